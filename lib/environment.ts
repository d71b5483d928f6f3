/**
 * The value of an environment variable that the deployment sets. Whoever needs one asks for it when its file is loaded:
 * so a function that lacks one fails at its start.
 * @throws Error naming the variable, when it is missing or empty
 */
export function environment(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`The environment variable ${name} is not set.`);
  return value;
}

/**
 * Seconds from an environment variable.
 * @throws Error naming the variable, when it is missing or not a positive whole number
 */
export function environmentSeconds(name: string): number {
  const value = environment(name);
  if (!/^[1-9]\d{0,9}$/.test(value)) {
    throw new Error(`The environment variable ${name} must be a whole number of seconds.`);
  }
  return Number(value);
}

/** The value of an environment variable that need not be set. */
export const optionalEnvironment = (name: string): string | undefined => process.env[name];
