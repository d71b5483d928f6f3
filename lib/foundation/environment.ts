/** The variables that the loaded files have declared, each with its check. */
const declared = new Map<string, () => unknown>();

function declare<Value>(name: string, read: () => Value): () => Value {
  declared.set(name, read);
  return read;
}

/**
 * Declares an environment variable that the deployment sets. Nothing is read yet, so every file can be loaded without it.
 * @returns reads the value, and throws an Error that names a variable which is missing or malformed; so do those below
 */
export const environment = (name: string): (() => string) =>
  declare(name, () => {
    const value = process.env[name];
    if (!value) throw new Error(`The environment variable ${name} is not set.`);
    return value;
  });

function numberIn(name: string, value: string, pattern: RegExp, form: string): number {
  if (!pattern.test(value)) throw new Error(`The environment variable ${name} must be ${form}.`);
  return Number(value);
}

const inSeconds = 'a whole number of seconds';

/** Declares a variable that holds a positive whole number. @param form what it must be, for the error */
export function environmentNumber(name: string, form = 'a whole number'): () => number {
  const readText = environment(name);
  return declare(name, () => numberIn(name, readText(), /^[1-9]\d{0,9}$/, form));
}

export const environmentSeconds = (name: string) => environmentNumber(name, inSeconds);

/** Declares a variable that holds a number of seconds and need not be set. */
export const optionalEnvironmentSeconds = (name: string): (() => number | undefined) =>
  declare(name, () => {
    const value = optionalEnvironment(name);
    return value === undefined ? undefined : numberIn(name, value, /^\d{1,10}$/, inSeconds);
  });

export const optionalEnvironment = (name: string): string | undefined => process.env[name];

/**
 * Checks every declared variable when a function is loaded by Lambda: a deployment that lacks one fails at its start,
 * not at its first request. Elsewhere functions are loaded to be described, without an environment.
 */
export function requireEnvironmentInLambda(): void {
  if (!optionalEnvironment('AWS_LAMBDA_FUNCTION_NAME')) return;
  for (const read of declared.values()) read();
}
