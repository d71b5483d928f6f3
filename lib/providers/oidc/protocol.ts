import * as v from 'valibot';
import { ServiceError } from '../../foundation/service-error.ts';
import type { VerifiedIdentity } from '../../login-users/linked-identity.ts';
import { verificationDeadline } from '../call-provider.ts';
import { check } from '../checks.ts';
import { profileIn } from '../credential.ts';
import { checkExchange } from '../oauth2/token-endpoint.ts';
import { credentialParameters } from '../parameters.ts';
import type { KeySource } from '../presets/companies.ts';
import { protocol } from '../protocol.ts';
import { withRevocableToken } from './code-exchange.ts';
import { fetchIssuerKeys } from './fetch-issuer-keys.ts';
import { type Issuer, mergeIssuers, oidcSettingsSchema } from './settings.ts';
import { trustedIssuerOf, verifyIdToken } from './verify.ts';

/** An id token, verified with the keys that its issuer publishes. @see OpenID Connect Core 1.0 */
export const oidc = protocol({
  name: 'oidc',
  title: 'OpenID Connect',
  settings: oidcSettingsSchema,
  merge: mergeIssuers,
  parameters: credentialParameters.oidc,
  verify: ({ issuers }, form) => verifyLogin(issuers, form),
  check: ({ issuers }) => {
    const signal = verificationDeadline();
    return issuers.flatMap(({ code_exchange, ...issuer }) => [
      checkKeys(issuer),
      ...(code_exchange ? [checkExchange(`codes of ${issuer.issuer}`, code_exchange, signal)] : []),
    ]);
  },
});

const entries = v.object(credentialParameters.oidc);

/** The person of an id token, with what its issuer's settings take of the parameters beside it. */
async function verifyLogin(
  issuers: Issuer[],
  { authorization_code, code_verifier, redirect_uri, user, ...credential }: v.InferOutput<typeof entries>,
): Promise<VerifiedIdentity> {
  const signal = verificationDeadline();
  const verified = await verifyIdToken(issuers, credential);
  const issuer = trustedIssuerOf(credential.id_token, issuers);
  const { code_exchange: exchange, user_profile } = issuer;
  const told_by_app =
    user_profile && user !== undefined ? profileIn(parsedUser(user), user_profile) : undefined;
  const identity = { ...verified, told_by_app };
  if (exchange && authorization_code !== undefined) {
    const code = { authorization_code, code_verifier, redirect_uri };
    return withRevocableToken(identity, issuer, exchange, code, signal);
  }
  // Ignored, they would protect nothing, though the caller counts on them.
  const useless = Object.entries({ code_verifier, redirect_uri }).find(([, value]) => value !== undefined);
  if (useless)
    throw new ServiceError(
      'invalid_request',
      `The parameter ${useless[0]} must not be supplied with provider credentials.`,
    );
  return identity;
}

/** The most bytes of the parameter `user`. */
const mostBytes = 2048;

const userSchema = v.pipe(
  v.string(),
  v.check((text) => Buffer.byteLength(text) <= mostBytes),
  v.parseJson(),
  v.looseObject({}),
);

/** The JSON object that an app tells of the person. @throws ServiceError */
function parsedUser(text: string): object {
  const user = v.safeParse(userSchema, text);
  if (user.success) return user.output;
  const message = `The parameter user must be a JSON object of at most ${mostBytes} bytes.`;
  throw new ServiceError('invalid_request', message);
}

/** Whether an issuer publishes its keys. */
export const checkKeys = (source: KeySource) =>
  check(`keys of ${source.issuer}`, async () => {
    const { keys } = await fetchIssuerKeys(source, verificationDeadline());
    return { ok: true, detail: `The issuer publishes its keys: ${keys.length}.` };
  });
