/**
 * Bits of a modulus. Shorter ones can be factored; longer ones cost time alone.
 * @see RFC 7518, section 3.3
 */
const leastModulusBits = 2048;
const mostModulusBits = 8192;
/**
 * Bits of a public exponent; nearly all keys have 65537. Other verifiers take no longer ones
 * either.
 */
const mostExponentBits = 32;

/** The members of a public RSA key (RFC 7518, section 6.3.1), of which nothing is checked yet. */
interface RsaJwk {
  n?: unknown;
  e?: unknown;
}

/**
 * Whether the signatures of an RSA key prove anything, and cost little to verify. With the exponent
 * 1, a signature is the message itself; with an even modulus or exponent, a key is none.
 */
export function isSoundRsaKey({ n, e }: RsaJwk): boolean {
  const modulus = integerIn(n, mostModulusBits);
  const exponent = integerIn(e, mostExponentBits);
  if (modulus === undefined || exponent === undefined) return false;
  const areOdd = modulus % 2n === 1n && exponent % 2n === 1n;
  return areOdd && bitsOf(modulus) >= leastModulusBits && exponent >= 3n;
}

/** A positive integer in base64url; undefined for another text, and for more bits. */
function integerIn(text: unknown, mostBits: number): bigint | undefined {
  const mostCharacters = Math.ceil(mostBits / 6) + 2;
  if (typeof text !== 'string' || text.length > mostCharacters || !/^[\w-]+$/.test(text))
    return undefined;
  const integer = BigInt(`0x0${Buffer.from(text, 'base64url').toString('hex')}`);
  return bitsOf(integer) <= mostBits ? integer : undefined;
}

const bitsOf = (integer: bigint): number => integer.toString(2).length;
