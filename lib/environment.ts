/** The variables that the loaded files have declared, each with its check. */
const declared = new Map<string, () => unknown>();

/**
 * Declares an environment variable that the deployment sets. Nothing is read yet, so every file can be loaded without it.
 * @returns reads the value. @throws Error naming the variable, when it is missing or empty
 */
export function environment(name: string): () => string {
  const read = (): string => {
    const value = process.env[name];
    if (!value) throw new Error(`The environment variable ${name} is not set.`);
    return value;
  };
  declared.set(name, read);
  return read;
}

/**
 * Declares a variable that holds seconds.
 * @returns reads the value. @throws Error naming the variable, when it is missing or not a positive whole number
 */
export const environmentSeconds = (name: string): (() => number) =>
  environmentNumber(name, 'a whole number of seconds');

/**
 * Declares a variable that holds a positive whole number.
 * @param form what it must be, for the error
 * @returns reads the value. @throws Error naming the variable, when it is missing or no such number
 */
export function environmentNumber(name: string, form = 'a whole number'): () => number {
  const readText = environment(name);
  const read = (): number => {
    const value = readText();
    if (!/^[1-9]\d{0,9}$/.test(value)) {
      throw new Error(`The environment variable ${name} must be ${form}.`);
    }
    return Number(value);
  };
  declared.set(name, read);
  return read;
}

/**
 * Declares a variable that holds seconds and need not be set.
 * @returns reads the value. @throws Error naming the variable, when it is not a whole number
 */
export function optionalEnvironmentSeconds(name: string): () => number | undefined {
  const read = (): number | undefined => {
    const value = optionalEnvironment(name);
    if (value === undefined) return undefined;
    if (!/^\d{1,10}$/.test(value)) {
      throw new Error(`The environment variable ${name} must be a whole number of seconds.`);
    }
    return Number(value);
  };
  declared.set(name, read);
  return read;
}

/** The value of an environment variable that need not be set. */
export const optionalEnvironment = (name: string): string | undefined => process.env[name];

/**
 * Checks every declared variable when a function is loaded by Lambda: a deployment that lacks one fails at its start,
 * not at its first request. Elsewhere functions are loaded to be described, without an environment.
 * @throws Error naming the first variable that is missing or malformed
 */
export function requireEnvironmentInLambda(): void {
  if (!optionalEnvironment('AWS_LAMBDA_FUNCTION_NAME')) return;
  for (const read of declared.values()) read();
}
