import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { loginAppIdOf, newId } from '../foundation/ids.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { rotateSecretOf } from '../secrets/item-secrets.ts';
import { firstSecret, matchesAny, newSecret, secretAttributes } from '../secrets/secrets.ts';
import { cached } from '../storage/cache.ts';
import { deleteItem, type ItemOf, itemKind, putItem, readItem, updateOwnItem } from '../storage/items.ts';
import { clientKey } from '../storage/keys.ts';
import { type GrantType, grantTypes } from './grant-types.ts';
import { findStatus } from './status.ts';

const secretPrefix = 'lcs';

export const clientItem = itemKind(
  v.object({
    client_id: v.string(),
    ...secretAttributes,
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
}

/** Whether a client may read the devices that messages go to. */
export const readsRecipients = ({ grant_types, recipients }: LoginAppClient): boolean =>
  grant_types === undefined || recipients === true;

/** Reads a client by one small read, and by none for an id of another form. */
async function readClient(id: string): Promise<LoginAppClient | undefined> {
  const loginAppId = loginAppIdOf(id);
  return loginAppId === undefined ? undefined : readItem(clientItem(loginAppId, id));
}

const findClient = cached(readClient, (id) => id);

/** The client of a client id and secret, or what is wrong with them. */
export async function authenticateClient(
  clientId: string,
  clientSecret: string,
): Promise<AuthenticatedClient | 'id_unknown' | 'secret_wrong'> {
  const isClient = ({ secrets }: LoginAppClient) => matchesAny(clientSecret, secrets);
  const client = await findClient(clientId, isClient);
  const loginAppId = loginAppIdOf(clientId);
  if (!client || !loginAppId) return 'id_unknown';
  if (!isClient(client)) return 'secret_wrong';
  return { clientId, loginAppId, grantTypes: client.grant_types, mayReadRecipients: readsRecipients(client) };
}

/** Whether a client has not been revoked. What was issued to it ends with it, within 30 seconds. */
export const isCurrentClient = async (clientId: string): Promise<boolean> =>
  (await findClient(clientId, () => true)) !== undefined;

/**
 * Creates a client of a Login App. The secret is in the answer and nowhere else.
 * @param grantTypes those that it may use; undefined for all of them
 * @param more its right to read recipients, and epoch seconds of its end
 */
export async function createClient(
  loginAppId: string,
  grantTypes?: GrantType[],
  more: { recipients?: boolean | undefined; expires_at?: number } = {},
): Promise<{ client_id: string; client_secret: string }> {
  const client_id = `${loginAppId}.${newId('c')}`;
  const client_secret = newSecret(secretPrefix);
  const created = {
    client_id,
    ...firstSecret(client_secret),
    grant_types: grantTypes,
    created_at: timestamp(),
    ...more,
  };
  await putItem(clientItem(loginAppId, client_id), created, { ifAbsent: true });
  return { client_id, client_secret };
}

/**
 * Sets the grants that a client may use, undefined for all of them, and whether it may then read recipients. False when
 * there is no such client.
 */
export const setGrantTypes = (
  loginAppId: string,
  clientId: string,
  grantTypes: GrantType[] | undefined,
  recipients: boolean,
): Promise<boolean> =>
  updateOwnItem(clientItem(loginAppId, clientId), {
    set: { grant_types: grantTypes, recipients: recipients || undefined },
    when: { pk: { exists: true } },
  });

/** Gives a client a new secret; the old one is valid until it is revoked. */
export const rotateClientSecret = (loginAppId: string, client: LoginAppClient) =>
  rotateSecretOf(clientItem(loginAppId, client.client_id), client, secretPrefix);

export const revokeClient = (loginAppId: string, clientId: string): Promise<void> =>
  deleteItem(clientItem(loginAppId, clientId));

/** @throws ServiceError `unauthorized_client` for a client that may use no grant: it may only introspect */
export function requireMoreThanIntrospection({ grantTypes }: AuthenticatedClient): void {
  if (grantTypes?.length !== 0) return;
  throw new ServiceError('unauthorized_client', 'The client may only introspect tokens.', {
    reason: 'grant_type_not_allowed',
  });
}

/** @throws ServiceError `unauthorized_client` while the Login App is disabled */
export async function requireEnabled(loginAppId: string): Promise<void> {
  if ((await findStatus(loginAppId)).isEnabled) return;
  throw new ServiceError('unauthorized_client', 'The Login App is disabled.', {
    reason: 'login_app_disabled',
  });
}
