import { createLocalJWKSet, errors, type JSONWebKeySet, type JWSHeaderParameters } from 'jose';
import * as v from 'valibot';
import { clock } from '../clock.ts';
import { callProvider } from './call-provider.ts';
import { ProviderFailure } from './provider-failure.ts';
import { providerUrl } from './settings.ts';

/** Milliseconds for which the keys of an issuer are used without asking again. */
const freshFor = 60 * 60_000;
/** Milliseconds between two fetches that unknown key ids can cause, per issuer. */
const coolDown = 60_000;

interface IssuerKeys {
  keySet: JSONWebKeySet;
  fetchedAt: number;
}

const remembered = new Map<string, IssuerKeys>();

/** The issuer's key that a token names. One that is not known is asked for, at most once a minute. */
export async function issuerKey(issuer: string, header: JWSHeaderParameters, signal: AbortSignal) {
  const findIn = async ({ keySet }: IssuerKeys) => createLocalJWKSet(keySet)(header);
  try {
    return await findIn(await keysFetchedWithin(freshFor, issuer, signal));
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    return findIn(await keysFetchedWithin(coolDown, issuer, signal));
  }
}

async function keysFetchedWithin(
  milliseconds: number,
  issuer: string,
  signal: AbortSignal,
): Promise<IssuerKeys> {
  const now = clock.now().getTime();
  const known = remembered.get(issuer);
  if (known && now - known.fetchedAt < milliseconds) return known;
  const keys = { keySet: await fetchKeys(issuer, signal), fetchedAt: now };
  remembered.set(issuer, keys);
  return keys;
}

const keySet = v.object({ keys: v.array(v.looseObject({ kty: v.string() })) });

/** @see OpenID Connect Discovery 1.0, section 4 */
async function fetchKeys(issuer: string, signal: AbortSignal): Promise<JSONWebKeySet> {
  const discovery = v.object({ issuer: v.literal(issuer), jwks_uri: providerUrl });
  const discoveryUrl = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const { jwks_uri } = await fetchDocument(discoveryUrl, discovery, signal);
  return fetchDocument(jwks_uri, keySet, signal);
}

async function fetchDocument<Schema extends v.GenericSchema>(
  url: string,
  schema: Schema,
  signal: AbortSignal,
) {
  const { status, body } = await callProvider({ url, signal });
  if (status !== 200) throw new ProviderFailure('unexpected_status', url, String(status));
  const result = v.safeParse(schema, body);
  if (!result.success) throw new ProviderFailure('unexpected_answer', url);
  return result.output;
}
