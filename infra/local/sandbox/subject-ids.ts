import { createHash } from 'node:crypto';

/** A decimal user id as large providers give them: 63 bits, most of them more than a double can hold. */
export function numericId(subject: string): string {
  const digest = createHash('sha256').update(subject).digest();
  return (digest.readBigUInt64BE() >> 1n).toString();
}

/** An opaque user id, e.g. `U2bd806c97f0e00af1a1fc3328fa763a9`. */
export function opaqueId(subject: string): string {
  return `U${createHash('sha256').update(subject).digest('hex').slice(0, 32)}`;
}
