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
import type { KnownIssuer } from '../jwt/issuers-in-settings.ts';
import { codeParameters, parametersOf } from '../parameters.ts';
import { type ProtocolName, type ProviderId, protocolNames, providerIds } from '../provider-ids.ts';
import { hostOf } from '../settings/fields.ts';
import { type StoredExchange, settingsOf } from '../stored/settings-of.ts';
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
  const protocol = protocolNames[provider];
  const takesCredentials = protocol !== 'oauth2' || 'audience_validation' in stored;

  const parameters = {
    ignored: ignoredBy(idTokens, exchange),
    needed: neededBy(idTokens, exchange),
  };
  const grants: Grant[] = [];
  if (takesCredentials)
    grants.push(grantOf('provider_credentials', parametersOf(provider), parameters));
  if (exchange)
    grants.push(grantOf('provider_authorization_code', sorted(codeParameters), parameters));

  return {
    provider,
    companies: companiesBehind([...idTokens, ...accessTokens], settings.addresses(stored)),
    protocol,
    grants,
    issuers: idTokens.map(({ issuer, nonce }) => ({ issuer, nonce })),
  };
}

/** Whoever issues the tokens of a provider or, without an issuer, is at its first address. */
function companiesBehind(issuers: KnownIssuer[], [address]: string[]): string[] {
  const names = issuers.map(({ issuer }) => companyAt(issuer) ?? issuer);
  if (names.length > 0) return [...new Set(names)];
  return address === undefined ? [] : [companyAt(address) ?? hostOf(address)];
}

/** The parameters that settings have no use for, and the provider, which the caller knows. */
function ignoredBy(idTokens: KnownIssuer[], exchange: StoredExchange | undefined): Set<string> {
  const exchanges = [exchange, ...idTokens.map(({ code_exchange }) => code_exchange)].filter(
    (one) => one !== undefined,
  );
  const hasRedirectUris = exchanges.some(({ redirect_uris }) => redirect_uris.length > 0);
  const takesUser = idTokens.some(({ user_profile }) => user_profile !== undefined);

  const ignored = new Set(['provider']);
  if (idTokens.length === 0) ignored.add('nonce');
  if (exchanges.length === 0) ignored.add('authorization_code').add('code_verifier');
  if (!hasRedirectUris) ignored.add('redirect_uri');
  if (!takesUser) ignored.add('user');
  return ignored;
}

/** The optional parameters that settings require. */
function neededBy(idTokens: KnownIssuer[], exchange: StoredExchange | undefined): Set<string> {
  const needed = new Set<string>();
  const isNonceRequired = idTokens.every(({ nonce }) => nonce === 'required');
  if (idTokens.length > 0 && isNonceRequired) needed.add('nonce');
  if (exchange?.pkce === 'required') needed.add('code_verifier');
  return needed;
}

/** A grant, with the parameters of its form that the settings make use of. */
function grantOf(
  grant_type: Grant['grant_type'],
  form: ReturnType<typeof sorted>,
  { ignored, needed }: { ignored: Set<string>; needed: Set<string> },
): Grant {
  const required = form.required.filter((name) => !ignored.has(name));
  const optional = form.optional.filter((name) => !ignored.has(name));
  return {
    grant_type,
    required: [...required, ...optional.filter((name) => needed.has(name))],
    optional: optional.filter((name) => !needed.has(name)),
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
): string[] | undefined {
  const exchange = settingsOf(provider).exchange(stored);
  const isByCode = grant_type === 'provider_authorization_code';
  const bringsIdToken = isByCode ? exchange?.id_token !== undefined : required.includes('id_token');
  if (bringsIdToken) return including(required, 'nonce');
  if (!isByCode) return required;
  return exchange?.pkce === undefined ? undefined : including(required, 'code_verifier');
}

const including = (names: string[], name: string): string[] => [...new Set([...names, name])];

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
