import * as v from 'valibot';
import { audiences, described, providerUrl } from '../settings-fields.ts';

/** What an operator sets for an OpenID Connect provider. */
export const oidcSettings = v.strictObject({
  issuer: described(
    providerUrl,
    'the `iss` of its id tokens; `/.well-known/openid-configuration` below it leads to the keys',
  ),
  audiences,
});
export type OidcSettings = v.InferOutput<typeof oidcSettings>;
