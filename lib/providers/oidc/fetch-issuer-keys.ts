import * as v from 'valibot';
import { callProvider } from '../call-provider.ts';
import { type KeySource, keysAddressOf } from '../presets/companies.ts';
import { ProviderFailure } from '../provider-failure.ts';
import { hostOf, providerUrlSchema } from '../settings/fields.ts';

/** The keys of an issuer. @see RFC 7517 section 5 */
export const issuerKeySetSchema = v.message(
  v.object({ keys: v.pipe(v.array(v.looseObject({ kty: v.string() })), v.nonEmpty()) }),
  'it has no keys',
);
type IssuerKeySet = v.InferOutput<typeof issuerKeySetSchema>;

/**
 * Fetches the keys with which an issuer signs, from the address in its settings or else from its own host. So no issuer
 * can send the service elsewhere.
 * @throws ProviderFailure
 */
export async function fetchIssuerKeys(source: KeySource, signal: AbortSignal): Promise<IssuerKeySet> {
  const known = keysAddressOf(source);
  const address = known ?? (await discoverKeys(source.issuer, signal));
  if (known === undefined && isElsewhere(source.issuer, address))
    throw new ProviderFailure(
      'unexpected_answer',
      source.issuer,
      'its keys are on another host, so the settings need jwks_uri',
    );
  return fetchDocument(address, issuerKeySetSchema, signal);
}

/** Whether the address of an issuer's keys is not on the issuer's own host. */
export const isElsewhere = (issuer: string, address: string): boolean => hostOf(issuer) !== hostOf(address);

/**
 * The address of an issuer's keys, as its discovery document says, in the normal form in which it has only visible ASCII.
 * @throws ProviderFailure
 * @see OpenID Connect Discovery 1.0, section 4
 */
export async function discoverKeys(issuer: string, signal: AbortSignal): Promise<string> {
  const discovery = v.object(
    {
      issuer: v.literal(issuer, 'it names another issuer; a slash at the end counts'),
      jwks_uri: v.pipe(
        v.custom<string>(
          (value) => v.is(providerUrlSchema, value),
          'it names no address of keys that may be called',
        ),
        v.transform((address) => new URL(address).href),
      ),
    },
    'it is no discovery document',
  );
  const discoveryUrl = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  return (await fetchDocument(discoveryUrl, discovery, signal)).jwks_uri;
}

async function fetchDocument<Schema extends v.GenericSchema>(
  url: string,
  schema: Schema,
  signal: AbortSignal,
): Promise<v.InferOutput<Schema>> {
  const { status, body } = await callProvider({ url, signal });
  if (status !== 200) throw new ProviderFailure('unexpected_status', url, String(status));
  const result = v.safeParse(schema, body);
  if (!result.success) throw new ProviderFailure('unexpected_answer', url, result.issues[0].message);
  return result.output;
}
