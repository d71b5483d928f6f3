import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { isId, newId } from '../foundation/ids.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { rotateSecretOf } from '../secrets/item-secrets.ts';
import {
  firstSecret,
  matchesAny,
  newSecret,
  newSecretsVersion,
  secretAttributes,
} from '../secrets/secrets.ts';
import { cached } from '../storage/cache.ts';
import { type ItemOf, itemKind, putItem, readItem } from '../storage/items.ts';
import { clientKey } from '../storage/keys.ts';
import {
  type GrantType,
  grantTypes,
  guestGrant,
  platforms,
  tokenExchange,
} from './client-metadata.ts';
import { findStatus } from './status.ts';

const secretPrefix = 'lcs';

/**
 * The members of a public key that are stored.
 * @see RFC 7517, section 4
 */
export const publicJwkSchema = v.object({
  kty: v.string(),
  ...v.entriesFromList(['alg', 'crv', 'x', 'y', 'n', 'e'], v.exactOptional(v.string())),
});

/** A public key whose assertions authenticate a client, and its thumbprint (RFC 7638). */
const storedKeySchema = v.object({
  thumbprint: v.string(),
  jwk: publicJwkSchema,
  created_at: v.string(),
});
export type StoredKey = v.InferOutput<typeof storedKeySchema>;

export const clientItem = itemKind(
  v.object({
    client_id: v.string(),
    ...secretAttributes,
    keys: v.optional(v.array(storedKeySchema)),
    /** The `iss` and `sub` of another issuer's tokens that authenticate it. */
    workload_identity: v.optional(v.object({ issuer: v.string(), subject: v.string() })),
    /**
     * The platform of a public client: an app without a credential, which proves a key with each
     * request (RFC 9449).
     */
    public_on: v.optional(v.picklist(platforms)),
    /** The providers that a public client may use; absent for those of id tokens alone. */
    providers: v.optional(v.array(v.string())),
    /** The grants that it may use; absent for all. With none, it may only introspect, and use its rights. */
    grant_types: v.optional(v.array(v.picklist(grantTypes))),
    /**
     * Whether it may read recipients although its grants are limited; with all grants it always
     * may.
     */
    recipients: v.optional(v.boolean()),
    /** Whether it may get providers' access tokens of people, each by a Login User Token. */
    provider_tokens: v.optional(v.boolean()),
    /** Whether it may get them of anybody, also while they are away. */
    provider_tokens_offline: v.optional(v.boolean()),
    created_at: v.string(),
  }),
  clientKey,
);
export type LoginAppClient = ItemOf<typeof clientItem>;

/** Whether a client may read recipients. */
export const readsRecipients = ({ grant_types, recipients }: LoginAppClient): boolean =>
  grant_types === undefined || recipients === true;

/** The id of the Login App in a client's id; undefined for a text of another form. */
export const loginAppIdOf = (clientId: string): string | undefined =>
  isId('la_….c_…', clientId) ? clientId.split('.')[0] : undefined;

const clients = cached(
  (id: string) => loginAppIdOf(id) !== undefined,
  async (id: string) => {
    const loginAppId = loginAppIdOf(id);
    return loginAppId === undefined ? undefined : readItem(clientItem(loginAppId, id));
  },
);

/** The client with an id and a secret, or the reason why they are not accepted. */
export async function authenticateClient(clientId: string, clientSecret: string) {
  const hasSecret = ({ secrets }: LoginAppClient) => matchesAny(clientSecret, secrets);
  const client = await clients.findGranting([clientId], hasSecret);
  if (!client) return 'id_unknown';
  return hasSecret(client) ? authenticated(client) : 'secret_wrong';
}

/**
 * The client with an id, if a check accepts it. The cached client is checked first. If it is not
 * accepted, the stored one is checked, which is read at most once a second.
 */
export async function authenticateClientBy(
  clientId: string,
  isAccepted: (client: LoginAppClient) => Promise<boolean>,
): Promise<AuthenticatedClient | undefined> {
  const cached = await clients.find(clientId);
  if (cached && (await isAccepted(cached))) return authenticated(cached);
  const stored = await clients.reread(clientId);
  if (!stored || stored === cached) return undefined;
  return (await isAccepted(stored)) ? authenticated(stored) : undefined;
}

const authenticated = (client: LoginAppClient) => ({
  clientId: client.client_id,
  loginAppId: loginAppIdOf(client.client_id) ?? '',
  /** Undefined for all. */
  grantTypes: client.grant_types,
  mayReadRecipients: readsRecipients(client),
  mayGetProviderTokens: client.provider_tokens === true,
  mayGetProviderTokensOffline: client.provider_tokens_offline === true,
  /** The providers that a public client may use, if an operator has set them. */
  providers: client.providers,
});

/**
 * A verified proof of possession, which counts once.
 * @see RFC 9449
 */
export interface Proof {
  /** The thumbprint of the key. */
  key: string;
  /** The identifier of the proof, new for each request. */
  jti: string;
  /** Epoch seconds until which it would be accepted again. */
  end: number;
}

export type AuthenticatedClient = ReturnType<typeof authenticated> & {
  /** The thumbprint of the key that a public client has proved, which its sessions are bound to. */
  proofKey?: string | undefined;
  /** The proof of this request, which is noted before the request has an effect. */
  proof?: Proof;
};

/** The client with an id, up to 30 seconds after it was revoked. */
export const findCurrentClient = (clientId: string) =>
  authenticateClientBy(clientId, async () => true);

export const findPublicClient = (clientId: string) =>
  authenticateClientBy(clientId, async ({ public_on }) => public_on !== undefined);

/**
 * Whether a client may use a grant. Whoever may log people in may begin guests, and the token
 * exchange has a right of its own.
 */
export function mayUseGrant({ grantTypes: allowed }: AuthenticatedClient, type: GrantType) {
  if (allowed === undefined || type === tokenExchange) return true;
  if (type === guestGrant) return loginGrants.some((login) => allowed.includes(login));
  return allowed.includes(type);
}
const loginGrants = ['provider_credentials', 'provider_authorization_code'] as const;

/** The rights of a client, as an operator sets them. */
type ClientRights = Pick<
  LoginAppClient,
  'grant_types' | 'recipients' | 'provider_tokens' | 'provider_tokens_offline'
>;

/** The permissions of a new client and, for a probe, epoch seconds of its end. */
type NewClient = Partial<ClientRights> & { expires_at?: number };
export type SecretlessCredential = Pick<
  LoginAppClient,
  'keys' | 'workload_identity' | 'public_on' | 'providers'
>;

/** Creates a client of a Login App with a secret, which nothing but the answer holds. */
export async function createClient(loginAppId: string, more: NewClient = {}) {
  const client_secret = newSecret(secretPrefix);
  const client_id = await putClient(loginAppId, { ...firstSecret(client_secret), ...more });
  return { client_id, client_secret };
}

/** The grants of a public client: those of a login and of its refresh tokens. */
export const publicGrantTypes = grantTypes.filter((type) => type !== 'client_credentials');

export const createSecretlessClient = (
  loginAppId: string,
  more: NewClient & SecretlessCredential,
) => putClient(loginAppId, { secrets: [], secrets_version: newSecretsVersion(), ...more });

async function putClient(
  loginAppId: string,
  attributes: NewClient & Omit<LoginAppClient, 'client_id' | 'created_at'>,
): Promise<string> {
  const client_id = `${loginAppId}.${newId('c')}`;
  const created = { client_id, ...attributes, created_at: timestamp() };
  await putItem(clientItem(loginAppId, client_id), created, { ifAbsent: true });
  return client_id;
}

export const rotateClientSecret = (loginAppId: string, client: LoginAppClient) =>
  rotateSecretOf(clientItem(loginAppId, client.client_id), client, secretPrefix);

/**
 * @throws ServiceError `unauthorized_client` for a client that may use no grant: it may only
 *   introspect, and what else its rights allow
 */
export function requireMoreThanIntrospection(client: AuthenticatedClient): void {
  if (client.grantTypes?.length !== 0) return;
  const message = `The client may only ${deedsWithoutGrant(client)}.`;
  throw new ServiceError('unauthorized_client', message, 'grant_type_not_allowed');
}

/** Names the deeds of a client that may use no grant, in the words of an error. */
function deedsWithoutGrant(client: AuthenticatedClient): string {
  const deeds = ['introspect tokens'];
  if (client.mayReadRecipients) deeds.push('read recipients');
  if (client.mayGetProviderTokens || client.mayGetProviderTokensOffline)
    deeds.push(`get tokens of providers (grant_type=${tokenExchange})`);
  // Made only when it is needed: it loads the words of the language, which takes 9 ms. When the
  // function is loaded, that would lengthen each cold start.
  return new Intl.ListFormat('en-GB', { type: 'conjunction' }).format(deeds);
}

/** @throws ServiceError `unauthorized_client` while the Login App is disabled */
export async function requireEnabled(loginAppId: string): Promise<void> {
  const { isEnabled } = await findStatus(loginAppId);
  if (isEnabled) return;
  throw new ServiceError('unauthorized_client', 'The Login App is disabled.', 'login_app_disabled');
}
