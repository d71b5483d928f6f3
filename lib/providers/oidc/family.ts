import { forbidden, optional, required } from '../../form-parameters.ts';
import { verificationDeadline } from '../call-provider.ts';
import { check } from '../checks.ts';
import { family } from '../family.ts';
import { fetchIssuerKeys } from './fetch-issuer-keys.ts';
import { oidcSettings } from './settings.ts';
import { verifyIdToken } from './verify.ts';

/** An id token, verified with the issuer's published keys. @see OpenID Connect Core 1.0 */
export const oidc = family({
  name: 'oidc',
  title: 'OpenID Connect',
  settings: oidcSettings,
  parameters: {
    id_token: required('id_token'),
    access_token: optional('access_token'),
    access_secret: forbidden('access_secret', 'for the OIDC provider'),
  },
  verify: (settings, { id_token, access_token }) => verifyIdToken(settings, id_token, access_token),
  check: ({ issuer }) => [
    check('keys', async () => {
      const { keys } = await fetchIssuerKeys(issuer, verificationDeadline());
      return { ok: true, detail: `The issuer publishes its keys: ${keys.length}.` };
    }),
  ],
});
