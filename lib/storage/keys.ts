import { createHash } from 'node:crypto';
import { probeIssuer } from './probe-ids.ts';
import type { GlobalIndex } from './table.ts';

/**
 * A key of the table; `docs/data-model.md` has an example of each.
 *
 * Values from outside are hashed or `encoded`, so none looks like the prefix of another key, and
 * none is too long. Only names that operators give are not: they are cut, and stay in lists of
 * their own.
 */
export interface Key {
  pk: string;
  sk: string;
}

/**
 * The partitions that a kind of items is in: forms of keys, in which `*` stands for any text. Those
 * of the table are also those of its local indexes.
 */
export type Partitions = {
  table: readonly string[];
  /** Whether the local indexes order these items. */
  hasLocalIndexes?: true;
} & { [Name in GlobalIndex]?: readonly string[] };

/**
 * The kinds of items, with the partitions to which roles are limited.
 * @see Amazon DynamoDB developer guide, "Using IAM policy conditions for fine-grained access
 *   control"
 */
export const partitions = {
  login_apps: { table: ['LOGIN_APP#*'], by_list: ['LOGIN_APPS', 'PROVIDER_SETTINGS'] },
  login_users: {
    table: ['LOGIN_USER#*'],
    by_list: ['LOGIN_USERS_OF#*', 'UNFINISHED'],
  },
  devices: {
    table: ['DEVICE#*', 'INSTALLATION#*'],
    by_list: ['DEVICES_OF#*'],
    by_shard: ['DEVICES_OF#*'],
  },
  accounts: { table: ['ACCOUNT#*'], by_list: ['ACCOUNTS'] },
  access_requests: {
    table: ['ACCESS_REQUEST#*', 'ACCESS_REQUESTS'],
    hasLocalIndexes: true,
    by_list: ['ACCESS_REQUESTS'],
    by_shard: ['DUE_ACCESS_REQUESTS'],
  },
  access_request_lists: {
    table: ['ACCESS_REQUESTS_OF#*'],
    hasLocalIndexes: true,
    by_list: ['ACCESS_REQUESTS_OF#*'],
  },
  signing_keys: { table: ['SIGNING_KEYS'] },
  issuer_keys: { table: ['ISSUER#*'] },
  used_once: { table: ['USED_ONCE#*'] },
  table_format: { table: ['TABLE'] },
  /** Items of the smoke test of new versions, which belong to other kinds, too. */
  probes: {
    table: [
      'LOGIN_APP#la_probe-*',
      'ACCOUNT#ac_probe-*',
      'ACCESS_REQUEST#9999999999999',
      'LOGIN_USER#lu_probe-*',
      'ISSUER#probe#*',
    ],
  },
} as const satisfies Record<string, Partitions>;
export type ItemKind = keyof typeof partitions;

const key = (pk: string, sk: string): Key => ({ pk, sk });

/** 43 URL-safe characters, different for `["a","bc"]` and `["ab","c"]`. */
export function hashOf(...parts: string[]): string {
  const text = JSON.stringify(parts);
  return createHash('sha256').update(text).digest('base64url');
}

/** The form of the service's own ids. */
const idForm = /^[\w.-]{1,100}$/;

/**
 * An id in a key. Texts of another form than the service's ids are hashed; `=` tells a hash from an
 * id.
 */
const encoded = (id: string): string => (idForm.test(id) ? id : `=${hashOf(id)}`);

/** Everything that a Login App has, but for its people and devices. */
export const loginAppPartition = (loginAppId: string) => `LOGIN_APP#${encoded(loginAppId)}`;

/** The sort keys in a Login App's partition, or their prefixes. */
export const loginAppSortKeys = {
  root: 'LOGIN_APP',
  client: 'CLIENT#',
  provider: 'PROVIDER#',
  mobileApplication: 'MOBILE_APPLICATION#',
  token: 'LOGIN_APP_TOKEN#',
} as const;

export const loginAppKey = (loginAppId: string) =>
  key(loginAppPartition(loginAppId), loginAppSortKeys.root);

export const clientKey = (loginAppId: string, clientId: string) =>
  key(loginAppPartition(loginAppId), `${loginAppSortKeys.client}${encoded(clientId)}`);

export const providerSettingsKey = (loginAppId: string, provider: string) =>
  key(loginAppPartition(loginAppId), `${loginAppSortKeys.provider}${encoded(provider)}`);

export const mobileApplicationKey = (loginAppId: string, platform: string) =>
  key(loginAppPartition(loginAppId), `${loginAppSortKeys.mobileApplication}${encoded(platform)}`);

export const loginAppTokenKey = (loginAppId: string, tokenId: string) =>
  key(loginAppPartition(loginAppId), `${loginAppSortKeys.token}${encoded(tokenId)}`);

/** A Login User with their sessions, and with work on them that has to be finished. */
export const loginUserPartition = (loginUserId: string) => `LOGIN_USER#${encoded(loginUserId)}`;

export const loginUserKey = (loginUserId: string) =>
  key(loginUserPartition(loginUserId), 'LOGIN_USER');

/** A deletion that has begun, and may have to be finished by the schedule. */
export const deletionKey = (loginUserId: string) =>
  key(loginUserPartition(loginUserId), 'DELETION');

/** When a guest has to be looked at again: they may have no session any longer. */
export const guestEndKey = (loginUserId: string) =>
  key(loginUserPartition(loginUserId), 'GUEST_END');

/** A merge whose further work is to be finished; it is stored with the person who was given up. */
export const mergeKey = (loginUserId: string) => key(loginUserPartition(loginUserId), 'MERGE');

/**
 * A provider, or an issuer of one, whose settings no longer keep the tokens that a host gives.
 * @param host that of the token endpoint
 */
export const keepingEndKey = (loginAppId: string, provider: string, host: string, issuer = '') =>
  key(`LOGIN_USER#keeping_end#${hashOf(loginAppId, provider, issuer, host)}`, 'KEEPING_END');

/** All unfinished deletions in the index `by_list`, by when each began. */
export const unfinishedList = 'UNFINISHED';

// The names of these lists begin as those of lists of people: roles have the right to these, and
// little room for another one.
/** All guests in the index `by_list`, by when each has to be looked at. */
export const dueGuestsList = 'LOGIN_USERS_OF#DUE_GUESTS';
/** All unfinished merges in the index `by_list`, by when each was made. */
export const unfinishedMergesList = 'LOGIN_USERS_OF#UNFINISHED_MERGES';
/** All ends of keeping tokens in the index `by_list`, by when people are looked at next. */
export const keepingEndsList = 'LOGIN_USERS_OF#KEEPING_ENDS';

export const sessionPrefix = 'SESSION#';

/** The id of a session, which ends with the three digits of its slot. */
const sessionIdForm = /^s_[\w-]{19}(?<slot>\d{3})$/;

/**
 * A session. Its id ends with the three digits of its slot in the ring of the person's sessions:
 * `s_b2F…007` is stored at `SESSION#007` until a later session gets this slot. An id of another
 * form is part of the key itself.
 */
export function sessionKey(loginUserId: string, sessionId: string): Key {
  const slot = sessionIdForm.exec(sessionId)?.groups?.slot;
  const place = slot ?? encoded(sessionId);
  return key(loginUserPartition(loginUserId), `${sessionPrefix}${place}`);
}

/** The person of a Login App with an id of another system. */
export const externalIdKey = (loginAppId: string, externalId: string) =>
  key(`LOGIN_USER#external#${hashOf(loginAppId, externalId)}`, 'EXTERNAL_ID');

/** A provider's message that has been received: it counts once. */
export const notificationKey = (loginAppId: string, id: string) =>
  key(`LOGIN_USER#notification#${hashOf(loginAppId, id)}`, 'NOTIFICATION');

export const deviceKey = (deviceId: string) => key(`DEVICE#${encoded(deviceId)}`, 'DEVICE');

/** An installation of a Login App's app, by the id that the app chose. */
export const installationKey = (loginAppId: string, installationId: string) =>
  key(`INSTALLATION#${hashOf(loginAppId, installationId)}`, 'INSTALLATION');

/** An account with what its idempotency keys and its imports made. */
export const accountPartition = (accountId: string) => `ACCOUNT#${encoded(accountId)}`;

export const accountKey = (accountId: string) => key(accountPartition(accountId), 'ACCOUNT');

/** The access request of an idempotency key. */
export const newAccessRequestKey = (accountId: string, keyHash: string) =>
  key(accountPartition(accountId), `NEW_ACCESS_REQUEST#${encoded(keyHash)}`);

/** An imported access request, by its former id. */
export const importedAccessRequestKey = (accountId: string, idHash: string) =>
  key(accountPartition(accountId), `IMPORTED_ACCESS_REQUEST#${encoded(idHash)}`);

/** The access request of an account with a reference. */
export const referenceKey = (accountId: string, reference: string) =>
  key(accountPartition(accountId), `REFERENCE#${hashOf(reference)}`);

/** The last id that an access request was given. */
export const accessRequestCounterKey = () => key(accessRequestsList, 'COUNTER');

/** An access request with its events, and the accounts that have access to it. */
export const accessRequestPartition = (accessRequestId: number) =>
  `ACCESS_REQUEST#${accessRequestId}`;

export const accessRequestKey = (accessRequestId: number) =>
  key(accessRequestPartition(accessRequestId), 'ACCESS_REQUEST');

export const accessPrefix = 'ACCOUNT#';

/** The access of an account to an access request. */
export const accessKey = (accessRequestId: number, accountId: string) =>
  key(accessRequestPartition(accessRequestId), `${accessPrefix}${encoded(accountId)}`);

export const eventKey = (accessRequestId: number, eventId: number) =>
  key(accessRequestPartition(accessRequestId), ordinalIn(eventList, eventId));

// The names of the lists of an access request's events, whose ordinals have no gaps.
export const eventList = 'EVENT';
export const reviewList = 'REVIEW';
export const actorTypeList = (actorType: string): string => encoded(actorType);
export const actorIdList = (actorId: string): string => hashOf(actorId);
export const actorList = (actorType: string, actorId: string) =>
  `${encoded(actorType)}#${hashOf(actorId)}`;

/** `EVENT#0000000000000007`: sorts as the number does. */
export const ordinalIn = (list: string, ordinal: number) =>
  `${list}#${String(ordinal).padStart(16, '0')}`;

/** 7, of `EVENT#0000000000000007`. */
export const ordinalOf = (sortKey: string): number => Number(sortKey.slice(-16));

export const publicSigningKeysKey = () => key('SIGNING_KEYS', 'PUBLIC');

/**
 * The keys of an identity provider. Those of the smoke test have a prefix, so that its role can't
 * write others.
 */
export function issuerKeysKey(issuer: string): Key {
  const prefix = issuer.startsWith(probeIssuer) ? 'probe#' : '';
  return key(`ISSUER#${prefix}${hashOf(issuer)}`, 'KEYS');
}

/** A used client assertion, proof or nonce, by its kind and its ids. */
export const usedOnceKey = (...ids: string[]) => key(`USED_ONCE#${hashOf(...ids)}`, 'USED');

/** The uses of something in a span of time, by its kind, its ids and the number of the span. */
export const usesInSpanKey = (...ids: string[]) => key(`USED_ONCE#${hashOf(...ids)}`, 'USES');

export const tableFormatKey = () => key('TABLE', 'FORMAT');

/** The devices of a Login User in the index `by_list`, by when they were last seen. */
export const devicesOfLoginUserList = (loginUserId: string) => `DEVICES_OF#${encoded(loginUserId)}`;

/** A shard of a Login App's devices in the index `by_shard`, in the same order. */
export const devicesOfLoginAppShard = (loginAppId: string, shard: number) =>
  `DEVICES_OF#${encoded(loginAppId)}#${String(shard).padStart(2, '0')}`;

/** All provider settings in the index `by_list`, in the order of their Login Apps. */
export const providerSettingsList = 'PROVIDER_SETTINGS';

/** All access requests in the index `by_list`, in the order of their ids. */
export const accessRequestsList = 'ACCESS_REQUESTS';

/** Pending access requests in the index `by_shard`, by when they expire. */
export const dueAccessRequestsShard = 'DUE_ACCESS_REQUESTS';

/** The accesses of an account in the index `by_list`, in the order of the access requests' ids. */
export const accessRequestsOfAccountList = (accountId: string) =>
  `ACCESS_REQUESTS_OF#${encoded(accountId)}`;

/** The entry of an access request in the lists of an account with access. */
export const listEntryKey = (accountId: string, accessRequestId: number) =>
  key(accessRequestsOfAccountList(accountId), ordinalIn(entryList, accessRequestId));

// The names of an account's lists of access requests, whose ordinals are the ids.
export const entryList = 'ENTRY';
export const decisionList = (decision: string): string => encoded(decision);
export const decisionForRequesterList = (decision: string, actorId: string): string =>
  `${encoded(decision)}#${hashOf(actorId)}`;
export const referenceList = (reference: string): string => hashOf(reference);

/** All Login Apps in the index `by_list`, by name. */
export const loginAppsList = 'LOGIN_APPS';
/** All accounts in the index `by_list`, by name. */
export const accountsList = 'ACCOUNTS';

/** `back office#ac_7Yt…`: sorts by name in any case, then by id. */
export const namePosition = (name: string, id: string) => `${namePrefix(name)}#${id}`;

/** `back off`: the prefix of the positions of names that start so, cut to 100 characters. */
export function namePrefix(start: string): string {
  // Spread, so that no character is cut in half.
  const characters = [...start.toLowerCase()];
  return characters.slice(0, 100).join('');
}

/** A shard of a Login App's people in the index `by_list`, by when they first logged in. */
export const loginUsersOfLoginAppShard = (loginAppId: string, shard: number) =>
  `LOGIN_USERS_OF#${encoded(loginAppId)}#${String(shard).padStart(2, '0')}`;

/** The sessions that began in a session of a provider, by its hash, in the index `by_list`. */
export const sessionsOfProviderSessionList = (loginAppId: string, providerSession: string) =>
  `LOGIN_USERS_OF#${encoded(loginAppId)}#sid#${encoded(providerSession)}`;
