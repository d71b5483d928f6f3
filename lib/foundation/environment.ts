/** The declared variables, each with its check. */
const declared = new Map<string, () => unknown>();

function declare<Value>(name: string, read: () => Value): () => Value {
  declared.set(name, read);
  return read;
}

/**
 * Declares an environment variable.
 * @returns reads it, and throws an Error that names it if it is missing or malformed
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

/**
 * Declares a variable that holds a positive whole number.
 * @param form what it must be, for the error
 */
export function environmentNumber(name: string, form = 'a whole number'): () => number {
  const readText = environment(name);
  return declare(name, () => numberIn(name, readText(), /^[1-9]\d{0,9}$/, form));
}

export const environmentSeconds = (name: string) => environmentNumber(name, inSeconds);

/**
 * Declares a variable that holds a number of seconds.
 * @param otherwise the number when it isn't set
 */
export const optionalEnvironmentSeconds = (name: string, otherwise: number): (() => number) =>
  declare(name, () => {
    const value = optionalEnvironment(name);
    return value === undefined ? otherwise : numberIn(name, value, /^\d{1,10}$/, inSeconds);
  });

/**
 * Declares a variable that holds a positive whole number.
 * @param otherwise the number when it isn't set
 */
export const optionalEnvironmentNumber = (name: string, otherwise: number): (() => number) =>
  declare(name, () => {
    const value = optionalEnvironment(name);
    if (value === undefined) return otherwise;
    return numberIn(name, value, /^[1-9]\d{0,9}$/, 'a whole number');
  });

export const optionalEnvironment = (name: string): string | undefined => process.env[name];

/**
 * Checks every declared variable, so that a function fails when Lambda loads it. Elsewhere
 * functions are loaded without any.
 */
export function requireEnvironmentInLambda(): void {
  if (!optionalEnvironment('AWS_LAMBDA_FUNCTION_NAME')) return;
  for (const read of declared.values()) read();
}
