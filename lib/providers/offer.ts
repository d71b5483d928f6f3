import * as v from 'valibot';
import {
  type AuthenticatedClient,
  requireEnabled,
  requireMoreThanIntrospection,
} from '../login-apps/clients.ts';
import { sorted } from '../schema/form-parameters.ts';
import { loginAppPartition, loginAppSortKeys } from '../storage/keys.ts';
import { readPartition } from '../storage/lists.ts';
import { canonicalIssuer } from './oidc/issuer.ts';
import { codeParameters, parametersOf } from './parameters.ts';
import { companyAt } from './presets/companies.ts';
import { type ProtocolName, type ProviderId, protocolNames, providerIds } from './provider-ids.ts';

const issuerSchema = v.object({
  issuer: v.pipe(v.string(), v.description('The `iss` of id tokens that are accepted.')),
  nonce: v.pipe(
    v.picklist(['optional', 'required']),
    v.description('Whether a login with such an id token must send its nonce.'),
  ),
});

const grantSchema = v.object({
  grant_type: v.picklist(['provider_credentials', 'provider_authorization_code']),
  required: v.pipe(v.array(v.string()), v.description('The parameters that must be sent.')),
  optional: v.pipe(v.array(v.string()), v.description('The parameters that may be sent.')),
});

/** A provider of a Login App, as those who write the app need to know it. */
export const offeredProviderSchema = v.pipe(
  v.object({
    provider: v.picklist(providerIds),
    companies: v.pipe(
      v.array(v.string()),
      v.description('Who it is: the name of a well-known company, otherwise the issuer or the host.'),
    ),
    // Under a title, since generated Swift can't have a type of the name `Protocol`.
    protocol: v.pipe(
      v.picklist(['oauth1', 'oauth2', 'oidc'] satisfies ProtocolName[]),
      v.title('ProviderProtocol'),
    ),
    grants: v.pipe(
      v.array(grantSchema),
      v.description('Each way to log in, with its parameters besides `grant_type` and `provider`.'),
    ),
    issuers: v.pipe(v.array(issuerSchema), v.description('The issuers of id tokens; none without those.')),
  }),
  v.title('Provider'),
);
export type OfferedProvider = v.InferOutput<typeof offeredProviderSchema>;
type Issuer = OfferedProvider['issuers'][number];

const issuerSettings = v.object({
  issuer: v.pipe(v.string(), v.transform(canonicalIssuer)),
  nonce: v.optional(issuerSchema.entries.nonce, 'optional'),
});

/** The parts of any provider's stored settings that say how to log in. Secrets and app ids stay behind. */
const relevantSettings = v.object({
  issuers: v.optional(v.array(issuerSettings), []),
  verify_url: v.optional(v.string()),
  user_info: v.optional(v.object({ url: v.string() })),
  audience_validation: v.optional(v.object({ issuer: v.optional(v.string()) })),
  authorization_code: v.optional(
    v.object({
      token_url: v.string(),
      redirect_uris: v.optional(v.array(v.string()), []),
      id_token: v.optional(issuerSettings),
    }),
  ),
});
type RelevantSettings = v.InferOutput<typeof relevantSettings>;

/** A provider as those who write the app need to know it, by the stored settings. */
export function offerOf(provider: ProviderId, stored: object): OfferedProvider {
  const settings = v.parse(relevantSettings, stored);
  const { authorization_code: exchange } = settings;
  const issuers = exchange?.id_token ? [exchange.id_token] : settings.issuers;
  const protocol = protocolNames[provider];
  const takesCredentials = protocol !== 'oauth2' || settings.audience_validation !== undefined;
  return {
    provider,
    companies: companiesOf(settings, issuers),
    protocol,
    grants: [
      ...(takesCredentials ? [credentialGrant(provider, settings.issuers)] : []),
      ...(exchange ? [codeGrant(exchange)] : []),
    ],
    issuers,
  };
}

function companiesOf(settings: RelevantSettings, issuers: Issuer[]) {
  const { verify_url, user_info, audience_validation, authorization_code } = settings;
  const ofAccessTokens = audience_validation?.issuer;
  const authorities = ofAccessTokens === undefined ? issuers : [...issuers, { issuer: ofAccessTokens }];
  const address = verify_url ?? user_info?.url ?? authorization_code?.token_url;
  const names =
    authorities.length > 0
      ? authorities.map(({ issuer }) => companyAt(issuer) ?? issuer)
      : [address].filter((one) => one !== undefined).map((one) => companyAt(one) ?? new URL(one).host);
  return [...new Set(names)];
}

function credentialGrant(provider: ProviderId, issuers: Issuer[]) {
  const grant_type = 'provider_credentials' as const;
  return withRequiredNonce({ grant_type, ...parametersOf(provider) }, issuers);
}

function codeGrant({ id_token, redirect_uris }: NonNullable<RelevantSettings['authorization_code']>) {
  const { required, optional } = sorted(codeParameters);
  const isTaken: Record<string, boolean> = {
    nonce: id_token !== undefined,
    redirect_uri: redirect_uris.length > 0,
  };
  return withRequiredNonce(
    {
      grant_type: 'provider_authorization_code' as const,
      required: required.filter((name) => name !== 'provider'),
      optional: optional.filter((name) => isTaken[name] ?? true),
    },
    id_token ? [id_token] : [],
  );
}

/** A grant with the nonce among what it requires, if every issuer requires it. */
function withRequiredNonce(
  { grant_type, required, optional }: v.InferOutput<typeof grantSchema>,
  issuers: Issuer[],
) {
  const isRequired = issuers.length > 0 && issuers.every(({ nonce }) => nonce === 'required');
  if (!isRequired) return { grant_type, required, optional };
  return {
    grant_type,
    required: [...required, 'nonce'],
    optional: optional.filter((name) => name !== 'nonce'),
  };
}

const storedSchema = v.object({ provider: v.picklist(providerIds), settings: v.looseObject({}) });

/**
 * The providers that are set up for the Login App of a client, in the order of their identifiers. One query.
 * @throws ServiceError `unauthorized_client` for a client that may only introspect, and while the Login App is disabled
 */
export async function listProviders(client: AuthenticatedClient): Promise<{ providers: OfferedProvider[] }> {
  requireMoreThanIntrospection(client);
  await requireEnabled(client.loginAppId);
  const items = await readPartition(loginAppPartition(client.loginAppId), loginAppSortKeys.provider);
  const stored = items.map((item) => v.parse(storedSchema, item));
  return { providers: stored.map(({ provider, settings }) => offerOf(provider, settings)) };
}
