import { isId } from '../../foundation/ids.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { decodeUtf8 } from '../../foundation/utf8.ts';
import { annotateLog } from '../../log/request-fields.ts';
import type { Authentication } from '../endpoint.ts';

/**
 * The forms of the ids that are sent with a secret, and the error when the two are not accepted.
 */
const kinds = {
  client: { idForm: 'la_….c_…', error: 'invalid_client' },
  account: { idForm: 'ac_…', error: 'unauthorized' },
} as const;

export const mismatch = (kind: keyof typeof kinds) =>
  `The ${kind} id and the ${kind} secret do not match.`;

/**
 * The caller by HTTP Basic.
 * @param find the caller, or why it is none
 * @throws ServiceError `invalid_client` or `unauthorized`
 */
export async function basicCaller<Caller extends object>(
  kind: keyof typeof kinds,
  header: string | undefined,
  find: (
    id: string,
    secret: string,
  ) => Promise<Caller | 'id_unknown' | 'secret_wrong' | 'account_disabled'>,
): Promise<Caller> {
  const { idForm, error } = kinds[kind];
  const sent = basicCredentials(header);
  if (!sent) {
    const message = `Send the ${kind} id and the ${kind} secret with HTTP Basic authentication.`;
    throw new ServiceError(error, message, 'credentials_missing');
  }
  const caller = await find(sent.user, sent.password);
  // An id of another form could be a secret.
  const isWellFormed = isId(idForm, sent.user);
  if (isWellFormed) annotateLog({ [`${kind}_id`]: sent.user });
  if (typeof caller !== 'string') return caller;
  if (caller === 'account_disabled')
    throw new ServiceError(error, 'The account is disabled.', caller);
  const form = isWellFormed ? '' : ` The ${kind} id has the form ${idForm.replaceAll('…', '*')}.`;
  throw new ServiceError(error, `${mismatch(kind)}${form}`, caller);
}

/**
 * The form-decoded user and password of an HTTP Basic header.
 * @see RFC 7617 section 2, RFC 6749 section 2.3.1
 */
export function basicCredentials(
  header: string | undefined,
): { user: string; password: string } | undefined {
  const encoded = header?.match(/^Basic +([A-Za-z0-9+/]+={0,2}) *$/i)?.[1];
  if (!encoded || encoded.length > 1024) return undefined;
  const pair = decodeUtf8(Buffer.from(encoded, 'base64')) ?? '';
  const colon = pair.indexOf(':');
  if (colon < 1) return undefined;
  const user = formDecoded(pair.slice(0, colon));
  const password = formDecoded(pair.slice(colon + 1));
  return user && password ? { user, password } : undefined;
}

/** Whether a header has the scheme of tokens, whatever follows. */
export const isBearer = (header: string | undefined): boolean => /^Bearer\b/i.test(header ?? '');

/**
 * The token of a Bearer header, or undefined.
 * @see RFC 6750 section 2.1
 */
const bearerToken = (header: string | undefined) =>
  header?.match(/^Bearer +([\w.~+/-]+=*) *$/i)?.[1];

/**
 * The one Bearer token in some headers.
 * @throws ServiceError `invalid_token`
 */
export function requiredBearerToken(kind: string, headers: (string | undefined)[]): string {
  const sent = headers.filter((header) => header !== undefined);
  const [token, ...others] = new Set(sent.map(bearerToken));
  if (others.length > 0)
    throw new ServiceError(
      'invalid_token',
      'The Authentication and the Authorization header do not agree.',
    );
  if (token) return token;
  const reason = sent.some(isBearer) ? 'credentials_malformed' : 'credentials_missing';
  throw new ServiceError('invalid_token', `Send a ${kind} as Authorization: Bearer.`, reason);
}

function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

export const anybody: Authentication<undefined> = {
  scheme: 'none',
  identify: async () => undefined,
};
