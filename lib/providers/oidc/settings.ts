import * as v from 'valibot';
import { audiences, providerUrl } from '../settings-fields.ts';

/** What an operator sets for an OpenID Connect provider. */
export const oidcSettings = v.strictObject({ issuer: providerUrl, audiences });
export type OidcSettings = v.InferOutput<typeof oidcSettings>;
