import * as v from 'valibot';
import {
  type AuthenticatedClient,
  requireEnabled,
  requireMoreThanIntrospection,
} from '../../login-apps/clients.ts';
import { sorted } from '../../schema/form-parameters.ts';
import { described, textField } from '../../schema/json-schema.ts';
import { loginAppPartition, loginAppSortKeys } from '../../storage/keys.ts';
import { readPartition } from '../../storage/lists.ts';
import { codeParameters, parametersOf } from '../parameters.ts';
import { type ProtocolName, type ProviderId, protocolNames, providerIds } from '../provider-ids.ts';
import { hostOf } from '../settings/fields.ts';
import { settingsOf } from '../stored/settings-of.ts';
import { companyAt } from './companies.ts';

const issuerSchema = v.object({
  issuer: textField('The `iss` of id tokens that are accepted.'),
  nonce: described(
    v.picklist(['optional', 'required']),
    'Whether a login with such an id token must send its nonce.',
  ),
});

const grantSchema = v.object({
  grant_type: v.picklist(['provider_credentials', 'provider_authorization_code']),
  required: described(v.array(v.string()), 'The parameters that must be sent.'),
  optional: described(v.array(v.string()), 'The parameters that may be sent.'),
});
type Grant = v.InferOutput<typeof grantSchema>;

export const offeredProviderSchema = v.pipe(
  v.object({
    provider: v.picklist(providerIds),
    companies: described(
      v.array(v.string()),
      'Who it is: the name of a well-known company, otherwise the issuer or the host.',
    ),
    // Under a title, since generated Swift can't have a type of the name `Protocol`.
    protocol: v.pipe(
      v.picklist(['oauth1', 'oauth2', 'oidc'] satisfies ProtocolName[]),
      v.title('ProviderProtocol'),
    ),
    grants: described(
      v.array(grantSchema),
      'Each way to log in, with its parameters besides `grant_type` and `provider`.',
    ),
    issuers: described(v.array(issuerSchema), 'The issuers of id tokens; none without those.'),
  }),
  v.title('Provider'),
);
export type OfferedProvider = v.InferOutput<typeof offeredProviderSchema>;

/** A provider as developers of the app need to know it, without secrets and app ids. */
export function offerOf(provider: ProviderId, stored: object): OfferedProvider {
  const settings = settingsOf(provider);
  const { idTokens, accessTokens } = settings.issuers(stored);
  const exchange = settings.exchange(stored);
  const issuers = [...idTokens, ...accessTokens].map(({ issuer }) => companyAt(issuer) ?? issuer);
  const [address] = settings.addresses(stored);
  const hosts = address === undefined ? [] : [companyAt(address) ?? hostOf(address)];
  const protocol = protocolNames[provider];
  const takesCredentials = protocol !== 'oauth2' || 'audience_validation' in stored;
  const isNonceRequired =
    idTokens.length > 0 && idTokens.every(({ nonce }) => nonce === 'required');
  const exchanges = [exchange, ...idTokens.map((one) => one.code_exchange)].flatMap(
    (one) => one ?? [],
  );
  const isTaken: Record<string, boolean> = {
    provider: false,
    nonce: idTokens.length > 0,
    authorization_code: exchanges.length > 0,
    code_verifier: exchanges.length > 0,
    redirect_uri: exchanges.some(({ redirect_uris }) => redirect_uris.length > 0),
    user: idTokens.some(({ user_profile }) => user_profile !== undefined),
  };
  const neededHere = new Set([
    ...(isNonceRequired ? ['nonce'] : []),
    ...(exchange?.pkce === 'required' ? ['code_verifier'] : []),
  ]);
  const taken = (names: string[]) => names.filter((name) => isTaken[name] ?? true);
  const grant = (grant_type: Grant['grant_type'], names: ReturnType<typeof sorted>): Grant => {
    const optional = taken(names.optional);
    return {
      grant_type,
      required: [...taken(names.required), ...optional.filter((name) => neededHere.has(name))],
      optional: optional.filter((name) => !neededHere.has(name)),
    };
  };
  return {
    provider,
    companies: [...new Set(issuers.length > 0 ? issuers : hosts)],
    protocol,
    grants: [
      ...(takesCredentials ? [grant('provider_credentials', parametersOf(provider))] : []),
      ...(exchange ? [grant('provider_authorization_code', sorted(codeParameters))] : []),
    ],
    issuers: idTokens.map(({ issuer, nonce }) => ({ issuer, nonce })),
  };
}

/**
 * The parameters that a public client must send for a grant; undefined if it can't use it.
 * @see requireBoundCode
 */
export function requiredOfPublicClient(
  provider: ProviderId,
  stored: object,
  { grant_type, required }: Grant,
) {
  const exchange = settingsOf(provider).exchange(stored);
  const isByCode = grant_type === 'provider_authorization_code';
  const bringsIdToken = isByCode ? exchange?.id_token !== undefined : required.includes('id_token');
  if (bringsIdToken) return [...new Set([...required, 'nonce'])];
  if (!isByCode) return required;
  return exchange?.pkce === undefined ? undefined : [...new Set([...required, 'code_verifier'])];
}

const storedSchema = v.object({
  provider: v.picklist(providerIds),
  settings: v.record(v.string(), v.unknown()),
});

/**
 * Lists the providers of the client's Login App, by one query.
 * @throws ServiceError `unauthorized_client`
 */
export async function listProviders(
  client: AuthenticatedClient,
): Promise<{ providers: OfferedProvider[] }> {
  requireMoreThanIntrospection(client);
  await requireEnabled(client.loginAppId);
  const items = await readPartition(
    loginAppPartition(client.loginAppId),
    loginAppSortKeys.provider,
  );
  const stored = items.map((item) => v.parse(storedSchema, item));
  return { providers: stored.map(({ provider, settings }) => offerOf(provider, settings)) };
}
