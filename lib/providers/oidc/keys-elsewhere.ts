import * as v from 'valibot';
import { type KeySource, keysAddressOf } from '../../provider-settings/known-issuers.ts';
import { verificationDeadline } from '../call-provider.ts';
import { ProviderFailure } from '../provider-failure.ts';
import { discoverKeys, isElsewhere } from './fetch-issuer-keys.ts';

const issuerSchema = v.object({ issuer: v.string(), jwks_uri: v.optional(v.string()) });
const issuersSchema = v.object({
  issuers: v.optional(v.array(issuerSchema), []),
  // Only that of JWTs has an issuer.
  audience_validation: v.fallback(v.optional(issuerSchema), undefined),
  authorization_code: v.optional(v.object({ id_token: v.optional(issuerSchema) })),
});

/**
 * The problems of settings whose issuers publish their keys on another host, by one look at each discovery document. An
 * issuer that doesn't answer is no problem here: a check of the provider reports it.
 * @param settings that have been checked
 */
export async function findKeysElsewhere(settings: object): Promise<string[]> {
  const { issuers, audience_validation, authorization_code } = v.parse(issuersSchema, settings);
  const ofCodes = authorization_code?.id_token;
  const signal = verificationDeadline();
  const problems = [
    ...issuers.map((source, at) => problemOf(source, `issuers.${at}.jwks_uri`, signal)),
    ...(audience_validation ? [problemOf(audience_validation, 'audience_validation.jwks_uri', signal)] : []),
    ...(ofCodes ? [problemOf(ofCodes, 'authorization_code.id_token.jwks_uri', signal)] : []),
  ];
  return (await Promise.all(problems)).flat();
}

async function problemOf(source: KeySource, setting: string, signal: AbortSignal): Promise<string[]> {
  if (keysAddressOf(source) !== undefined) return [];
  try {
    const address = await discoverKeys(source.issuer, signal);
    if (!isElsewhere(source.issuer, address)) return [];
    return [
      `${setting}: must be set, since the keys of ${source.issuer} are on another host: ${address.slice(0, 2_000)}, if you trust it`,
    ];
  } catch (error) {
    if (error instanceof ProviderFailure) return [];
    throw error;
  }
}
