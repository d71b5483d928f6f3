import * as v from 'valibot';
import { definedOnly } from '../../foundation/defined-only.ts';
import { invalid, ServiceError } from '../../foundation/service-error.ts';
import { logFailure } from '../../log/log.ts';
import { annotateLog } from '../../log/request-fields.ts';
import type { VerifiedIdentity } from '../../login-users/linked-identity.ts';
import type { Profile } from '../../login-users/profile.ts';
import { jsonObject } from '../../schema/validation.ts';
import { verificationDeadline } from '../calls/call-provider.ts';
import { profileIn, rejected } from '../calls/credential.ts';
import { ProviderFailure } from '../calls/provider-failure.ts';
import { type AuthorizationCode, checkExchange } from '../codes/token-endpoint.ts';
import { checkKeys } from '../jwt/issuer-keys.ts';
import { trustedIssuerOf } from '../jwt/verify-jwt.ts';
import { credentialParameters } from '../parameters.ts';
import { type FormOf, protocol } from '../protocol.ts';
import type { ReceivedToken } from '../received-token.ts';
import { type Issuer, mergeIssuers, oidcSettingsSchema } from './settings.ts';
import { verifyCode, verifyIdToken } from './verify.ts';

/**
 * An id token, verified with the keys that its issuer publishes.
 * @see OpenID Connect Core 1.0
 */
export const oidc = protocol({
  name: 'oidc',
  title: 'OpenID Connect',
  settings: oidcSettingsSchema,
  merge: mergeIssuers,
  parameters: credentialParameters.oidc,
  verify: ({ issuers }, form, received) => verifyLogin(issuers, form, received),
  check: ({ issuers }) => {
    const signal = verificationDeadline();
    return issuers.flatMap(({ code_exchange, ...issuer }) => [
      checkKeys(issuer),
      ...(code_exchange ? [checkExchange(`codes of ${issuer.issuer}`, code_exchange, signal)] : []),
    ]);
  },
});

type LoginForm = FormOf<typeof credentialParameters.oidc>;

/** The person of an id token, and what its issuer's settings accept with it. */
async function verifyLogin(
  issuers: Issuer[],
  form: LoginForm,
  received: ReceivedToken,
): Promise<VerifiedIdentity> {
  const signal = verificationDeadline();
  const { id_token, access_token, nonce } = form;
  const verified = await verifyIdToken(issuers, { id_token, access_token, nonce });
  const issuer = trustedIssuerOf(id_token, issuers);
  const identity = { ...verified, told_by_app: claimsFromApp(issuer, form.user) };

  const { authorization_code, code_verifier, redirect_uri } = form;
  const exchange = issuer.code_exchange;
  if (exchange && authorization_code !== undefined) {
    const code = { authorization_code, code_verifier, redirect_uri };
    const outcome = await exchangeBeside(identity, issuer, exchange, code, received, signal);
    return { ...identity, code: outcome };
  }

  // An error, since the caller counts on what they protect.
  if (code_verifier !== undefined) throw needless('code_verifier');
  if (redirect_uri !== undefined) throw needless('redirect_uri');
  return identity;
}

const needless = (name: string): ServiceError =>
  invalid(`The parameter ${name} must not be supplied with provider credentials.`);

/**
 * Claims about the person that the app tells; undefined where the settings accept none. Anything
 * but an object is noted and left out: no claim is worth a failed login.
 */
function claimsFromApp({ user_profile }: Issuer, user: string | undefined): Profile | undefined {
  if (user_profile === undefined || user === undefined) return undefined;
  const { success, output } = v.safeParse(userSchema, user);
  if (success) return profileIn(output, user_profile);
  // Some apps send `null` at each login but the first.
  if (user !== 'null') annotateLog({ left_out: 'user' });
  return undefined;
}

const isShort = (text: string) => Buffer.byteLength(text) <= 2048;
/** The JSON object in which an app tells claims about the person. */
const userSchema = v.pipe(
  v.string(),
  v.check(isShort),
  v.parseJson(),
  jsonObject('It must be a JSON object.'),
);

/**
 * Exchanges the code beside an id token for a refresh token. The login does not depend on the code:
 * if it gives no token of the same person, the log says why.
 * @throws ServiceError `invalid_request` for a redirect URI that is not in the settings
 */
async function exchangeBeside(
  identity: VerifiedIdentity,
  issuer: Issuer & { template?: string | undefined },
  exchange: NonNullable<Issuer['code_exchange']>,
  code: AuthorizationCode,
  received: ReceivedToken,
  signal: AbortSignal,
): Promise<NonNullable<VerifiedIdentity['code']>> {
  received.issuer = issuer.template ?? issuer.issuer;
  try {
    const person = await verifyCode(
      exchange,
      issuer,
      { ...code, isSecond: true },
      received,
      signal,
    );
    if (person.subject !== identity.subject) {
      // Neither stored nor revoked: that would log out somebody else.
      received.token = undefined;
      throw rejected('subject_mismatch');
    }
    // Google gives one only when the person consents, and the earlier one stays.
    if (received.token === undefined && !exchange.keep_tokens)
      throw new ProviderFailure('unexpected_answer', exchange.token_url, 'no refresh token');
    return 'exchanged';
  } catch (error) {
    received.state = 'refused';
    if (error instanceof ServiceError && error.code === 'invalid_request') throw error;
    const reason = error instanceof ServiceError ? error.detail.reason : undefined;
    logFailure('code_not_exchanged', error, definedOnly({ issuer: issuer.issuer, reason }));
    return 'not_exchanged';
  }
}
