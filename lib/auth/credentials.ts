import type { Step } from '../http/endpoint.ts';
import { note } from '../log.ts';
import type { LogFields } from '../log-events.ts';
import { Refusal, type RefusalCode } from '../refusal.ts';

/** A scheme as a step of the chain: who the headers say is calling. @param identify throws a Refusal when it is nobody */
export const authentication = <Caller>(
  identify: (headers: Record<string, string | undefined>) => Promise<Caller>,
): Step<Caller> => ({
  before: async ({ event }) => {
    event.caller = await identify(event.headers);
  },
});

interface BasicAuthentication<Caller> {
  /** Whose id and secret they are, for the refusals. */
  whose: string;
  refusedAs: RefusalCode;
  /** Undefined when the secret is not that of the id. */
  find: (id: string, secret: string) => Promise<Caller | undefined>;
  /** What the log is told of the caller. */
  noted: (caller: Caller) => LogFields;
}

/** The scheme of an id and a secret in HTTP Basic. */
export const basicAuthentication = <Caller>({ whose, refusedAs, find, noted }: BasicAuthentication<Caller>) =>
  authentication(async ({ authorization }) => {
    const sent = basicCredentials(authorization);
    if (!sent)
      throw new Refusal(
        refusedAs,
        `Send the ${whose} id and the ${whose} secret with HTTP Basic authentication.`,
      );
    const caller = await find(sent.user, sent.password);
    if (!caller) throw new Refusal(refusedAs, `The ${whose} id and the ${whose} secret do not match.`);
    note(noted(caller));
    return caller;
  });

/**
 * The user and password of an HTTP Basic header, or undefined when it is missing or malformed. Both may be
 * form-encoded, as OAuth 2.0 clients send them; our own ids and secrets read the same either way.
 * @see RFC 7617 section 2, RFC 6749 section 2.3.1
 */
export function basicCredentials(header: string | undefined): { user: string; password: string } | undefined {
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
export function bearerToken(header: string | undefined): string | undefined {
  return header?.match(/^Bearer +([\w.~+/-]+=*) *$/i)?.[1];
}

function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
