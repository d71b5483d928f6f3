import { createHash } from 'node:crypto';

/**
 * Every key of the table is built here. What comes from outside (a subject, an actor id) is hashed
 * first: no value can look like another's prefix, and none is too long for a key.
 */
export interface Key {
  pk: string;
  sk: string;
}

/** Unambiguous over its parts: `["a","bc"]` and `["ab","c"]` give different hashes. 43 URL-safe characters. */
export const hashOf = (...parts: string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url');

/** `LOGIN_APP#la_9hX…`: a Login App with its clients, provider settings and mobile applications. */
export const loginAppPartition = (loginAppId: string): string => `LOGIN_APP#${loginAppId}`;
/** What the sort keys in it are, or begin with. */
export const loginAppSortKeys = {
  root: 'LOGIN_APP',
  client: 'CLIENT#',
  provider: 'PROVIDER#',
  mobileApplication: 'MOBILE_APPLICATION#',
  token: 'LOGIN_APP_TOKEN#',
} as const;
/** `LOGIN_APP#la_9hX… / LOGIN_APP` */
export const loginAppKey = (loginAppId: string): Key => ({
  pk: loginAppPartition(loginAppId),
  sk: loginAppSortKeys.root,
});
/** `LOGIN_APP#la_9hX… / CLIENT#la_9hX….Zk3…` */
export const clientKey = (loginAppId: string, clientId: string): Key => ({
  pk: loginAppPartition(loginAppId),
  sk: `${loginAppSortKeys.client}${clientId}`,
});
/** `LOGIN_APP#la_9hX… / PROVIDER#provider_a` */
export const providerSettingsKey = (loginAppId: string, provider: string): Key => ({
  pk: loginAppPartition(loginAppId),
  sk: `${loginAppSortKeys.provider}${provider}`,
});
/** `LOGIN_APP#la_9hX… / MOBILE_APPLICATION#ios` */
export const mobileApplicationKey = (loginAppId: string, platform: string): Key => ({
  pk: loginAppPartition(loginAppId),
  sk: `${loginAppSortKeys.mobileApplication}${platform}`,
});
/** `LOGIN_APP#la_9hX… / LOGIN_APP_TOKEN#t_Gm0…` */
export const loginAppTokenKey = (loginAppId: string, tokenId: string): Key => ({
  pk: loginAppPartition(loginAppId),
  sk: `${loginAppSortKeys.token}${tokenId}`,
});

/** `LOGIN_USER#lu_5nQ…`: a Login User with their sessions. */
export const loginUserPartition = (loginUserId: string): string => `LOGIN_USER#${loginUserId}`;
/** `LOGIN_USER#lu_5nQ… / LOGIN_USER` */
export const loginUserKey = (loginUserId: string): Key => ({
  pk: loginUserPartition(loginUserId),
  sk: 'LOGIN_USER',
});
/** `LOGIN_USER#lu_5nQ… / SESSION#s_b2F…` */
export const sessionKey = (loginUserId: string, sessionId: string): Key => ({
  pk: loginUserPartition(loginUserId),
  sk: `${sessionPrefix}${sessionId}`,
});
/** What the sort keys of sessions begin with. */
export const sessionPrefix = 'SESSION#';

/** `DEVICE#d_kP0… / DEVICE` */
export const deviceKey = (deviceId: string): Key => ({ pk: `DEVICE#${deviceId}`, sk: 'DEVICE' });

/** `ACCOUNT#ac_7Yt… / ACCOUNT` */
export const accountKey = (accountId: string): Key => ({ pk: `ACCOUNT#${accountId}`, sk: 'ACCOUNT' });

/** `ACCOUNT#ac_7Yt… / NEW_ACCESS_REQUEST#gDl…`: what an idempotency key made. */
export const newAccessRequestKey = (accountId: string, idempotencyKey: string): Key => ({
  pk: `ACCOUNT#${accountId}`,
  sk: `NEW_ACCESS_REQUEST#${idempotencyKey}`,
});

/** `ACCESS_REQUEST#42` */
export const accessRequestPartition = (accessRequestId: number): string =>
  `ACCESS_REQUEST#${accessRequestId}`;
/** `ACCESS_REQUEST#42 / ACCESS_REQUEST` */
export const accessRequestKey = (accessRequestId: number): Key => ({
  pk: accessRequestPartition(accessRequestId),
  sk: 'ACCESS_REQUEST',
});
/** `ACCESS_REQUEST#42 / EVENT#0000000000000007` */
export const eventKey = (accessRequestId: number, eventId: number): Key => ({
  pk: accessRequestPartition(accessRequestId),
  sk: ordinalIn(eventList, eventId),
});

/** A list whose members carry a dense ordinal 1, 2, 3 … in a sort key. `EVENT` */
export const eventList = 'EVENT';
/** `login_user` */
export const actorTypeList = (actorType: string): string => actorType;
/** `gDl…`, the hash of an actor id */
export const actorIdList = (actorId: string): string => hashOf(actorId);
/** `custom#gDl…` */
export const actorList = (actorType: string, actorId: string): string => `${actorType}#${hashOf(actorId)}`;
/** `REVIEW` */
export const reviewList = 'REVIEW';

/** `EVENT#0000000000000007`: sorts as the number does. */
export const ordinalIn = (list: string, ordinal: number): string =>
  `${list}#${String(ordinal).padStart(16, '0')}`;
/** `EVENT`, of `EVENT#0000000000000007`. */
export const listNameOf = (sortKey: string): string => sortKey.slice(0, -17);
/** 7, of `EVENT#0000000000000007`. */
export const ordinalOf = (sortKey: string): number => Number(sortKey.slice(-16));

/** `SIGNING_KEYS / PUBLIC` */
export const publicSigningKeysKey = (): Key => ({ pk: 'SIGNING_KEYS', sk: 'PUBLIC' });

/** `ISSUER#Zx9… / KEYS`: the keys of an identity provider, by the hash of its issuer. */
export const issuerKeysKey = (issuer: string): Key => ({ pk: `ISSUER#${hashOf(issuer)}`, sk: 'KEYS' });

/** `DEVICES_OF#lu_5nQ…`: the devices of a Login User in the index `by_list`, in the order of when they were last seen. */
export const devicesOfLoginUserList = (loginUserId: string): string => `DEVICES_OF#${loginUserId}`;

/** `DEVICES_OF#la_9hX…#07`: a piece of a Login App's devices in the index `by_piece`, in the same order. */
export const devicesOfLoginAppPiece = (loginAppId: string, piece: number): string =>
  `DEVICES_OF#${loginAppId}#${String(piece).padStart(2, '0')}`;

/** The list of all access requests in the index `by_list`, in the order of their ids. */
export const accessRequestsList = 'ACCESS_REQUESTS';
