import { createHash } from 'node:crypto';
import { probeIssuer, ringIndexIn } from '../foundation/ids.ts';

/**
 * Every key of the table is built here; `docs/data-model.md` shows an example of each, which a test compares. Nothing that
 * comes from outside stands in a key as it came: a subject or an actor id is hashed, an id is encoded by `encoded`. So no
 * value looks like the prefix of another key, and none is too long. Only the names that operators give stand as they came,
 * cut, in the places of a list of their own.
 */
export interface Key {
  pk: string;
  sk: string;
}

/**
 * The kinds of items, each with the form of its partition keys, also of those in a global index. A role may be limited
 * to some of them: `*` stands for any text.
 * @see Amazon DynamoDB developer guide, "Using IAM policy conditions for fine-grained access control"
 */
export const leadingKeys = {
  /** The Login Apps with what belongs to them, the list of all of them, and the list of all provider settings. */
  login_apps: ['LOGIN_APP#*', 'LOGIN_APPS', 'PROVIDER_SETTINGS'],
  /** The Login Users with their sessions, the lists of those of a Login App, and what is unfinished about any of them. */
  login_users: ['LOGIN_USER#*', 'LOGIN_USERS_OF#*', 'UNFINISHED'],
  /** The devices themselves, the lists of those of a person or a Login App, and the installations they belong to. */
  devices: ['DEVICE#*', 'DEVICES_OF#*', 'INSTALLATION#*'],
  accounts: ['ACCOUNT#*', 'ACCOUNTS'],
  /** Access requests with their events, their counter, the list of all of them, the lists of those of an account, and marks. */
  access_requests: ['ACCESS_REQUEST#*', 'ACCESS_REQUESTS', 'ACCESS_REQUESTS_OF#*', 'MARKED_ACCESS_REQUESTS'],
  signing_keys: ['SIGNING_KEYS'],
  issuer_keys: ['ISSUER#*'],
  used_once: ['USED_ONCE#*'],
  /** The format of the table as a whole. */
  table_format: ['TABLE'],
  /** Items that the check of new versions makes and removes again; all of it also belongs to a kind above. */
  probes: [
    ...['LOGIN_APP#la_probe-*', 'ACCOUNT#ac_probe-*', 'ACCESS_REQUEST#9999999999999'],
    ...['LOGIN_USER#lu_probe-*', 'ISSUER#probe#*'],
  ],
} as const satisfies Record<string, readonly string[]>;
export type ItemKind = keyof typeof leadingKeys;

const key = (pk: string, sk: string): Key => ({ pk, sk });

/** Unambiguous over its parts: `["a","bc"]` and `["ab","c"]` give different hashes. 43 URL-safe characters. */
export const hashOf = (...parts: string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url');

/**
 * An id as a key holds it: ids of the service's own form as they are, readable in the table, any other text as its
 * hash. The `=` tells a hash from every id.
 */
const encoded = (id: string): string => (/^[\w.-]{1,100}$/.test(id) ? id : `=${hashOf(id)}`);

export const loginAppPartition = (loginAppId: string): string => `LOGIN_APP#${encoded(loginAppId)}`;
/** The sort keys in a Login App's partition, or their beginnings. */
export const loginAppSortKeys = {
  root: 'LOGIN_APP',
  client: 'CLIENT#',
  provider: 'PROVIDER#',
  mobileApplication: 'MOBILE_APPLICATION#',
  token: 'LOGIN_APP_TOKEN#',
} as const;
export const loginAppKey = (loginAppId: string): Key =>
  key(loginAppPartition(loginAppId), loginAppSortKeys.root);
export const clientKey = (loginAppId: string, clientId: string): Key =>
  key(loginAppPartition(loginAppId), `${loginAppSortKeys.client}${encoded(clientId)}`);
export const providerSettingsKey = (loginAppId: string, provider: string): Key =>
  key(loginAppPartition(loginAppId), `${loginAppSortKeys.provider}${encoded(provider)}`);
export const mobileApplicationKey = (loginAppId: string, platform: string): Key =>
  key(loginAppPartition(loginAppId), `${loginAppSortKeys.mobileApplication}${encoded(platform)}`);
export const loginAppTokenKey = (loginAppId: string, tokenId: string): Key =>
  key(loginAppPartition(loginAppId), `${loginAppSortKeys.token}${encoded(tokenId)}`);

export const loginUserPartition = (loginUserId: string): string => `LOGIN_USER#${encoded(loginUserId)}`;
export const loginUserKey = (loginUserId: string): Key => key(loginUserPartition(loginUserId), 'LOGIN_USER');
/** The mark of a deletion that is under way, or was interrupted. */
export const deletionKey = (loginUserId: string): Key => key(loginUserPartition(loginUserId), 'DELETION');
/** The list of those marks in the index `by_list`, by when the work began. */
export const unfinishedList = 'UNFINISHED';
/** The place of a session, `SESSION#007`, which a later one may have taken by now; `SESSION#s_b2F…` for one without a place. */
export const sessionKey = (loginUserId: string, sessionId: string): Key =>
  key(loginUserPartition(loginUserId), `${sessionPrefix}${ringIndexIn(sessionId) ?? encoded(sessionId)}`);
export const sessionPrefix = 'SESSION#';

/** The person of a Login App who has an id of another system, by its hash. */
export const externalIdKey = (loginAppId: string, externalId: string): Key =>
  key(`LOGIN_USER#external#${hashOf(loginAppId, externalId)}`, 'EXTERNAL_ID');

/** A message of a provider that a Login App has received, by its hash. */
export const notificationKey = (loginAppId: string, id: string): Key =>
  key(`LOGIN_USER#notification#${hashOf(loginAppId, id)}`, 'NOTIFICATION');

export const deviceKey = (deviceId: string): Key => key(`DEVICE#${encoded(deviceId)}`, 'DEVICE');

/** An installation of a Login App's app, by the hash of the id that the app chose. */
export const installationKey = (loginAppId: string, installationId: string): Key =>
  key(`INSTALLATION#${hashOf(loginAppId, installationId)}`, 'INSTALLATION');

/** An account with what its idempotency keys and its imports made. */
export const accountPartition = (accountId: string): string => `ACCOUNT#${encoded(accountId)}`;
export const accountKey = (accountId: string): Key => key(accountPartition(accountId), 'ACCOUNT');

/** The access request that a request with an idempotency key made, by the hash of the key. */
export const newAccessRequestKey = (accountId: string, keyHash: string): Key =>
  key(accountPartition(accountId), `NEW_ACCESS_REQUEST#${encoded(keyHash)}`);

/** The access request that an import made, by the hash of the id that it had before. */
export const importedAccessRequestKey = (accountId: string, idHash: string): Key =>
  key(accountPartition(accountId), `IMPORTED_ACCESS_REQUEST#${encoded(idHash)}`);

/** The access request that has a reference, by the hash of the reference. */
export const referenceKey = (accountId: string, reference: string): Key =>
  key(accountPartition(accountId), `REFERENCE#${hashOf(reference)}`);

/** The last id that an access request was given. */
export const accessRequestCounterKey = (): Key => key(accessRequestsList, 'COUNTER');

export const accessRequestPartition = (accessRequestId: number): string =>
  `ACCESS_REQUEST#${accessRequestId}`;
export const accessRequestKey = (accessRequestId: number): Key =>
  key(accessRequestPartition(accessRequestId), 'ACCESS_REQUEST');
/** The access of an account. */
export const accessKey = (accessRequestId: number, accountId: string): Key =>
  key(accessRequestPartition(accessRequestId), `${accessPrefix}${encoded(accountId)}`);
export const accessPrefix = 'ACCOUNT#';
export const eventKey = (accessRequestId: number, eventId: number): Key =>
  key(accessRequestPartition(accessRequestId), ordinalIn(eventList, eventId));

/** Lists whose members carry a dense ordinal 1, 2, 3 … in a sort key. */
export const eventList = 'EVENT';
export const reviewList = 'REVIEW';
export const actorTypeList = (actorType: string): string => encoded(actorType);
export const actorIdList = (actorId: string): string => hashOf(actorId);
export const actorList = (actorType: string, actorId: string): string =>
  `${encoded(actorType)}#${hashOf(actorId)}`;

/** `EVENT#0000000000000007`: sorts as the number does. */
export const ordinalIn = (list: string, ordinal: number): string =>
  `${list}#${String(ordinal).padStart(16, '0')}`;
/** 7, of `EVENT#0000000000000007`. */
export const ordinalOf = (sortKey: string): number => Number(sortKey.slice(-16));

export const publicSigningKeysKey = (): Key => key('SIGNING_KEYS', 'PUBLIC');

/** The keys of an identity provider, by the hash of its issuer. Whoever may write those of a probe can't write the others. */
export const issuerKeysKey = (issuer: string): Key =>
  key(`ISSUER#${issuer.startsWith(probeIssuer) ? 'probe#' : ''}${hashOf(issuer)}`, 'KEYS');

/** A client assertion, a proof or a nonce that was used, by the hash of its kind and its ids. */
export const usedOnceKey = (...ids: string[]): Key => key(`USED_ONCE#${hashOf(...ids)}`, 'USED');

export const tableFormatKey = (): Key => key('TABLE', 'FORMAT');

/** The devices of a Login User in the index `by_list`, by the time they were last seen. */
export const devicesOfLoginUserList = (loginUserId: string): string => `DEVICES_OF#${encoded(loginUserId)}`;

/** A shard of a Login App's devices in the index `by_shard`, in the same order. */
export const devicesOfLoginAppShard = (loginAppId: string, shard: number): string =>
  `DEVICES_OF#${encoded(loginAppId)}#${String(shard).padStart(2, '0')}`;

/** The list of all provider settings in the index `by_list`, in the order of their Login Apps. */
export const providerSettingsList = 'PROVIDER_SETTINGS';

/** The list of all access requests in the index `by_list`, in the order of their ids. */
export const accessRequestsList = 'ACCESS_REQUESTS';

/** The access requests that an account has access to in the index `by_list`, in the same order. */
export const accessRequestsOfAccountList = (accountId: string): string =>
  `ACCESS_REQUESTS_OF#${encoded(accountId)}`;

/** A block of a list, see `readList`. */
export const listBlockKey = (accountId: string, list: string, block: number): Key =>
  key(accessRequestsOfAccountList(accountId), ordinalIn(`LIST#${list}`, block));
/** Lists of an account's access requests: all, by the actor type and by the actor id of who requested, by reference. */
export const wholeList = 'ALL';
export const requesterTypeList = (actorType: string): string => `TYPE#${encoded(actorType)}`;
export const requesterIdList = (actorId: string): string => `ID#${hashOf(actorId)}`;
export const referenceList = (reference: string): string => `REFERENCE#${hashOf(reference)}`;

/** The mark of a change that the lists may not have yet. */
export const changeMarkKey = (accountId: string, accessRequestId: number, markId: string): Key =>
  key(accessRequestsOfAccountList(accountId), `${ordinalIn('CHANGE', accessRequestId)}#${markId}`);
/** The mark of an expiry. */
export const dueMarkKey = (accountId: string, time: string, accessRequestId: number): Key =>
  key(accessRequestsOfAccountList(accountId), ordinalIn(`DUE#${time}`, accessRequestId));
/** The list of all these marks in the index `by_list`, by when they were made or are due. */
export const markedAccessRequestsList = 'MARKED_ACCESS_REQUESTS';

/** The list of all Login Apps in the index `by_list`, by name. */
export const loginAppsList = 'LOGIN_APPS';
/** The list of all accounts in the index `by_list`, by name. */
export const accountsList = 'ACCOUNTS';
/** `back office#ac_7Yt…`: sorts by name in any case, and members of the same name by id. */
export const namePosition = (name: string, id: string): string => `${namePrefix(name)}#${id}`;
/** `back off`: the prefix shared by the positions of all names that start with this text, cut to 100 characters. */
export const namePrefix = (start: string): string => [...start.toLowerCase()].slice(0, 100).join('');

/** A shard of a Login App's people in the index `by_list`, by when they first logged in. */
export const loginUsersOfLoginAppShard = (loginAppId: string, shard: number): string =>
  `LOGIN_USERS_OF#${encoded(loginAppId)}#${String(shard).padStart(2, '0')}`;

/** The sessions in the index `by_list` that began in a session of a provider, by its hash. */
export const sessionsOfProviderSessionList = (loginAppId: string, providerSession: string): string =>
  `LOGIN_USERS_OF#${encoded(loginAppId)}#sid#${encoded(providerSession)}`;
