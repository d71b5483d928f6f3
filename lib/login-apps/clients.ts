import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { loginAppIdOf, newId } from '../foundation/ids.ts';
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
import { deleteItem, type ItemOf, itemKind, putItem, readItem, updateOwnItem } from '../storage/items.ts';
import { clientKey } from '../storage/keys.ts';
import { type GrantType, grantTypes, platforms } from './client-metadata.ts';
import { findStatus } from './status.ts';

const secretPrefix = 'lcs';

const text = v.exactOptional(v.string());
/** The members of a public key that are stored. @see RFC 7517, section 4 */
export const publicJwkSchema = v.object({
  ...{ kty: v.string(), alg: text },
  ...{ crv: text, x: text, y: text, n: text, e: text },
});

/** A public key whose assertions authenticate a client, and its thumbprint (RFC 7638). */
const storedKeySchema = v.object({ thumbprint: v.string(), jwk: publicJwkSchema, created_at: v.string() });
export type StoredKey = v.InferOutput<typeof storedKeySchema>;

export const clientItem = itemKind(
  v.object({
    client_id: v.string(),
    ...secretAttributes,
    keys: v.optional(v.array(storedKeySchema)),
    /** The `iss` and the `sub` of another issuer's tokens that authenticate it. */
    workload_identity: v.optional(v.object({ issuer: v.string(), subject: v.string() })),
    /** The platform of the app that is a public client: it has no credential, and proves a key with each request (RFC 9449). */
    public_on: v.optional(v.picklist(platforms)),
    /** The grants that it may use; without this, all of them. With none, it may only introspect. */
    grant_types: v.optional(v.array(v.picklist(grantTypes))),
    /** Whether it may read recipients although its grants are limited; one whose grants aren't always may. */
    recipients: v.optional(v.boolean()),
    created_at: v.string(),
  }),
  clientKey,
);
export type LoginAppClient = ItemOf<typeof clientItem>;

/** A Login App Client that has authenticated. */
export interface AuthenticatedClient {
  clientId: string;
  loginAppId: string;
  /** The grants that it may use; undefined for all of them. */
  grantTypes: readonly GrantType[] | undefined;
  /** Whether it may read the devices that messages go to, with their push tokens. */
  mayReadRecipients: boolean;
  /** The thumbprint of the key that a public client has proved, which its sessions are bound to; undefined for others. */
  proofKey?: string | undefined;
}

export const readsRecipients = ({ grant_types, recipients }: LoginAppClient): boolean =>
  grant_types === undefined || recipients === true;

/** Finds a client by one small read, and by none for an id of another form. */
const findClient = cached(async (id: string) => {
  const loginAppId = loginAppIdOf(id);
  return loginAppId === undefined ? undefined : readItem(clientItem(loginAppId, id));
});

/** The client of a client id and secret, or what is wrong with them. */
export async function authenticateClient(
  clientId: string,
  clientSecret: string,
): Promise<AuthenticatedClient | 'id_unknown' | 'secret_wrong'> {
  const isClient = ({ secrets }: LoginAppClient) => matchesAny(clientSecret, secrets);
  const client = await findClient([clientId], isClient);
  if (!client) return 'id_unknown';
  return isClient(client) ? authenticated(client) : 'secret_wrong';
}

/**
 * The client of an id that a proof holds for; undefined if there is none. A proof that fails for a cached client is tried
 * once more with the stored one, so that a new key works at once, at most once a second.
 * @param prove may throw, if nothing stored could change its mind
 */
export async function authenticateClientBy(
  clientId: string,
  prove: (client: LoginAppClient) => Promise<boolean>,
): Promise<AuthenticatedClient | undefined> {
  const cached = await findClient([clientId], () => true);
  if (cached && (await prove(cached))) return authenticated(cached);
  const stored = await findClient([clientId], () => false);
  return stored && stored !== cached && (await prove(stored)) ? authenticated(stored) : undefined;
}

const authenticated = (client: LoginAppClient): AuthenticatedClient => ({
  clientId: client.client_id,
  loginAppId: loginAppIdOf(client.client_id) ?? '',
  grantTypes: client.grant_types,
  mayReadRecipients: readsRecipients(client),
});

/** A client that has not been revoked. What was issued to it ends with it, within 30 seconds. */
export const findCurrentClient = (clientId: string): Promise<AuthenticatedClient | undefined> =>
  authenticateClientBy(clientId, async () => true);

export const isCurrentClient = async (clientId: string): Promise<boolean> =>
  (await findCurrentClient(clientId)) !== undefined;

/** The rights of a new client, and epoch seconds of its end. */
type NewClient = Partial<Pick<LoginAppClient, 'grant_types' | 'recipients'>> & { expires_at?: number };

export type SecretlessCredential = Pick<LoginAppClient, 'keys' | 'workload_identity' | 'public_on'>;

/** Creates a client of a Login App. The secret is in the answer and nowhere else. */
export async function createClient(loginAppId: string, more: NewClient = {}) {
  const client_secret = newSecret(secretPrefix);
  const client_id = await putClient(loginAppId, { ...firstSecret(client_secret), ...more });
  return { client_id, client_secret };
}

/** The grants of a public client: a login, and what goes on from it. */
export const publicGrantTypes = grantTypes.filter((type) => type !== 'client_credentials');

export const findPublicClient = (clientId: string): Promise<AuthenticatedClient | undefined> =>
  authenticateClientBy(clientId, async ({ public_on }) => public_on !== undefined);

export const createSecretlessClient = (loginAppId: string, more: NewClient & SecretlessCredential) =>
  putClient(loginAppId, { secrets: [], secrets_version: newSecretsVersion(), ...more });

async function putClient(
  loginAppId: string,
  attributes: NewClient & Omit<LoginAppClient, 'client_id' | 'created_at'>,
): Promise<string> {
  const client_id = `${loginAppId}.${newId('c')}`;
  const created = { client_id, ...attributes, created_at: timestamp() };
  await putItem(clientItem(loginAppId, client_id), created, { ifAbsent: true });
  return client_id;
}

/** Sets the grants of a client, undefined for all of them, and whether it may then read recipients. False when there is none. */
export const setGrantTypes = (
  loginAppId: string,
  clientId: string,
  grantTypes: GrantType[] | undefined,
  recipients: boolean,
): Promise<boolean> =>
  updateOwnItem(clientItem(loginAppId, clientId), {
    set: { grant_types: grantTypes, recipients: recipients || undefined },
  });

export const rotateClientSecret = (loginAppId: string, client: LoginAppClient) =>
  rotateSecretOf(clientItem(loginAppId, client.client_id), client, secretPrefix);

export const revokeClient = (loginAppId: string, clientId: string): Promise<void> =>
  deleteItem(clientItem(loginAppId, clientId));

/** @throws ServiceError `unauthorized_client` for a client that may use no grant: it may only introspect */
export function requireMoreThanIntrospection({ grantTypes }: AuthenticatedClient): void {
  const message = 'The client may only introspect tokens.';
  if (grantTypes?.length === 0)
    throw new ServiceError('unauthorized_client', message, 'grant_type_not_allowed');
}

/** @throws ServiceError `unauthorized_client` while the Login App is disabled */
export async function requireEnabled(loginAppId: string): Promise<void> {
  if ((await findStatus(loginAppId)).isEnabled) return;
  throw new ServiceError('unauthorized_client', 'The Login App is disabled.', 'login_app_disabled');
}
