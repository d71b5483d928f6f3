/** The service's one clock. Tests move it; nothing else asks the system for the time. */
export const clock = { now: (): Date => new Date() };

/** The current time in whole seconds since 1970-01-01T00:00:00Z, the unit of JWT and TTL times. */
export const epochSeconds = (): number => Math.floor(clock.now().getTime() / 1000);

/**
 * Whether a time, in milliseconds since 1970, is less than so many milliseconds ago. False for one
 * in the future.
 */
export function isYounger(time: number, milliseconds: number): boolean {
  const age = clock.now().getTime() - time;
  return age >= 0 && age < milliseconds;
}

/** ISO 8601, UTC: `2026-01-31T08:00:00.000Z`, from whole seconds since 1970. */
export const isoTime = (seconds: number): string => new Date(seconds * 1000).toISOString();

/** The time so many milliseconds ago, as `timestamp` writes it. */
export const ago = (milliseconds: number) =>
  new Date(clock.now().getTime() - milliseconds).toISOString();

/** ISO 8601, UTC, with milliseconds: `2026-01-31T08:00:00.000Z`. */
export const timestamp = (): string => clock.now().toISOString();
