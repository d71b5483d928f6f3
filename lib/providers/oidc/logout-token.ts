import * as v from 'valibot';
import { subjectAt } from '../credential.ts';
import type { KnownIssuer } from '../settings/issuers.ts';
import { authorityOf } from './issuer.ts';
import { notAccepted, type Received } from './notification.ts';
import { logoutEvent, refused, verifyFromIssuer } from './signed-message.ts';
import { providerSessionOf } from './verify.ts';

const eventsSchema = v.looseObject({ [logoutEvent]: v.looseObject({}) });

/**
 * Verifies a logout token.
 * @throws ServiceError `invalid_request`, ProviderFailure
 * @see OpenID Connect Back-Channel Logout 1.0, section 2.6
 */
export async function verifyLogoutToken(issuers: KnownIssuer[], jwt: string): Promise<Received> {
  try {
    const { issuer, settings, payload, id } = await verifyFromIssuer(issuers, jwt, {
      types: /^(jwt|logout\+jwt)?$/i,
      claims: ['iat', 'exp', 'jti'],
    });
    const { sub, sid, iat = 0 } = payload;
    if (!v.is(eventsSchema, payload.events))
      throw refused('The events of the token are not those of a logout token.');
    const subject = subjectAt(payload, 'sub');
    const providerSession = providerSessionOf(issuer, sid);
    const isUsable = (claim: unknown, read: string | undefined) => claim === undefined || read !== undefined;
    if (!isUsable(sub, subject) || !isUsable(sid, providerSession) || (sub ?? sid) === undefined)
      throw refused('The token needs a sub or a sid.');
    const person = subject === undefined ? undefined : { namespace: authorityOf(issuer), subject };
    const action = settings.on_logout ?? 'end_sessions';
    return { id, notifications: [{ kind: 'logout', person, providerSession, issuedAt: iat, action }] };
  } catch (error) {
    throw notAccepted(error, 'logout_token is not a logout token');
  }
}
