/**
 * The value of an environment variable that the deployment sets.
 * @throws Error naming the variable, when it is missing or empty
 */
export function environment(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`The environment variable ${name} is not set.`);
  return value;
}

/**
 * Seconds from an environment variable, or the default when it is not set.
 * @throws Error naming the variable, when it is not a positive whole number
 */
export function environmentSeconds(name: string, defaultSeconds: number): number {
  const value = process.env[name];
  if (value === undefined) return defaultSeconds;
  if (!/^[1-9]\d{0,9}$/.test(value)) {
    throw new Error(`The environment variable ${name} must be a whole number of seconds.`);
  }
  return Number(value);
}
