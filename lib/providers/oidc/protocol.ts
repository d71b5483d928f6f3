import { verificationDeadline } from '../call-provider.ts';
import { check } from '../checks.ts';
import { credentialParameters } from '../parameters.ts';
import type { KeySource } from '../presets/companies.ts';
import { protocol } from '../protocol.ts';
import { fetchIssuerKeys } from './fetch-issuer-keys.ts';
import { mergeIssuers, oidcSettingsSchema } from './settings.ts';
import { verifyIdToken } from './verify.ts';

/** An id token, verified with the keys that its issuer publishes. @see OpenID Connect Core 1.0 */
export const oidc = protocol({
  name: 'oidc',
  title: 'OpenID Connect',
  settings: oidcSettingsSchema,
  merge: mergeIssuers,
  parameters: credentialParameters.oidc,
  verify: ({ issuers }, form) => verifyIdToken(issuers, form),
  check: ({ issuers }) => issuers.map(checkKeys),
});

/** Whether an issuer publishes its keys. */
export const checkKeys = (source: KeySource) =>
  check(`keys of ${source.issuer}`, async () => {
    const { keys } = await fetchIssuerKeys(source, verificationDeadline());
    return { ok: true, detail: `The issuer publishes its keys: ${keys.length}.` };
  });
