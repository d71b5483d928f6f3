import { type IdForm, isId } from '../../foundation/ids.ts';
import { type ErrorCode, ServiceError } from '../../foundation/service-error.ts';
import type { RequestFields } from '../../log/events.ts';
import { annotateLog } from '../../log/request-fields.ts';
import type { Authentication, SchemeName, TableRights } from '../endpoint.ts';

const mismatch = (whose: string) => `The ${whose} id and the ${whose} secret do not match.`;

interface BasicAuthentication<Caller extends object> {
  scheme: SchemeName;
  /** The owner of id and secret, for the messages and the log. */
  whose: 'client' | 'account';
  error: ErrorCode;
  when: string;
  /** The caller, or the reason why the credentials are not those of one. */
  find: (id: string, secret: string) => Promise<Caller | 'id_unknown' | 'secret_wrong' | 'account_disabled'>;
  /** An id of another form is not logged: it could be a secret. */
  idForm: IdForm;
  table: TableRights;
  /** Fields of the log about the caller. */
  noted: (caller: Caller) => Partial<RequestFields>;
}

export const basicAuthentication = <Caller extends object>(
  basic: BasicAuthentication<Caller>,
): Authentication<Caller> => ({
  scheme: basic.scheme,
  error: { code: basic.error, when: basic.when, example: mismatch(basic.whose) },
  table: basic.table,
  identify: async ({ authorization }) => {
    const { scheme, whose, error, find, idForm, noted } = basic;
    const sent = basicCredentials(authorization);
    if (!sent) {
      const message = `Send the ${whose} id and the ${whose} secret with HTTP Basic authentication.`;
      throw new ServiceError(error, message, 'credentials_missing');
    }
    const caller = await find(sent.user, sent.password);
    if (typeof caller === 'string') {
      const isWellFormed = isId(idForm, sent.user);
      if (isWellFormed) annotateLog({ [`${whose}_id`]: sent.user });
      const form = isWellFormed ? '' : ` The ${whose} id has the form ${idForm.replaceAll('…', '*')}.`;
      const message =
        caller === 'account_disabled' ? 'The account is disabled.' : `${mismatch(whose)}${form}`;
      throw new ServiceError(error, message, caller);
    }
    // A scheme that builds on this one may yet reject the caller, whom the audit line then names.
    annotateLog({ ...noted(caller), caller: scheme });
    return caller;
  },
});

/**
 * The user and password of an HTTP Basic header, or undefined when it is missing or malformed. Both may be form-encoded.
 * @see RFC 7617 section 2, RFC 6749 section 2.3.1
 */
function basicCredentials(header: string | undefined): { user: string; password: string } | undefined {
  const encoded = header?.match(/^Basic +([A-Za-z0-9+/]+={0,2}) *$/i)?.[1];
  if (!encoded || encoded.length > 1024) return undefined;
  const pair = Buffer.from(encoded, 'base64').toString();
  const colon = pair.indexOf(':');
  if (colon < 1) return undefined;
  const user = formDecoded(pair.slice(0, colon));
  const password = formDecoded(pair.slice(colon + 1));
  return user && password ? { user, password } : undefined;
}

/** The token of a Bearer header, or undefined. @see RFC 6750 section 2.1 */
export const bearerToken = (header: string | undefined): string | undefined =>
  header?.match(/^Bearer +([\w.~+/-]+=*) *$/i)?.[1];

/** The token of the Bearer headers among some. @throws ServiceError `invalid_token` when they have none, or do not agree */
export function requiredBearerToken(kind: string, headers: (string | undefined)[]): string {
  const sent = headers.filter((header) => header !== undefined);
  const [token, ...others] = new Set(sent.map(bearerToken));
  if (others.length > 0)
    throw new ServiceError('invalid_token', 'The Authentication and the Authorization header do not agree.');
  if (token) return token;
  const isMissing = !sent.some((header) => /^Bearer\b/i.test(header));
  const reason = isMissing ? 'credentials_missing' : undefined;
  throw new ServiceError('invalid_token', `Send a ${kind} as Authorization: Bearer.`, reason);
}

function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

export const anybody: Authentication<undefined> = { scheme: 'none', identify: async () => undefined };
