/** When something was issued and when it ends, both in epoch seconds. */
export interface Validity {
  iat: number;
  exp: number;
}

const hour = 3600;

export function epochSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** One hour from now, or one that ended an hour ago: out of reach of any leeway. */
export function validity(expired: boolean): Validity {
  const iat = epochSeconds() - (expired ? 2 * hour : 0);
  return { iat, exp: iat + hour };
}
