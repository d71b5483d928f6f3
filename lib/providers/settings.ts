import * as v from 'valibot';
import { optionalEnvironment } from '../environment.ts';
import type { ProviderFamily } from './identifiers.ts';

const text = v.pipe(v.string('must be text'), v.nonEmpty('must not be empty'));

/** An address that may be called: https, or on a development machine http on the loopback interface. */
export const providerUrl = v.pipe(
  text,
  v.check(isCallable, 'must be an https address, without user, password or fragment'),
);

/** The app ids of ours that a credential may have been issued to. */
const audiences = v.pipe(
  v.array(text, 'must be a list of app ids'),
  v.minLength(1, 'must name at least one app id'),
);

const errorCodes = v.array(text, 'must be a list of error codes');
const statuses = v.array(v.pipe(v.number(), v.integer()), 'must be a list of HTTP statuses');

/** A field of a JSON answer; dots lead into objects: `data.app_id`. */
const fieldPath = v.pipe(
  text,
  v.regex(/^[\w-]+(\.[\w-]+)*$/, 'must be a field name, or names joined by dots'),
);

const userInfo = v.strictObject({
  url: providerUrl,
  /** Where the answer has the person's id. */
  subject_field: v.optional(fieldPath, 'sub'),
  /** The JSON type of that id; the other one is refused, so that 7 and "7" are never one person. */
  subject_type: v.optional(v.picklist(['string', 'integer'], 'must be string or integer'), 'string'),
});

/** Asks the provider by RFC 7662 whom a token was issued to. */
const introspection = v.strictObject({
  method: v.literal('introspection'),
  url: providerUrl,
  client_id: text,
  client_secret: text,
  audiences,
});

/** Asks the provider's own token-info address whom a token was issued to. */
const tokenInfo = v.strictObject({
  method: v.literal('token_info'),
  url: providerUrl,
  /** The query parameter that carries the token. */
  token_parameter: v.optional(text, 'access_token'),
  /** The query parameter that carries our app's own credential, where the provider wants one. */
  app_token_parameter: v.optional(text),
  app_token_secret: v.optional(text),
  /** How the token is sent: in the query of a GET, or in the JSON body of a POST. */
  send_token_as: v.optional(v.picklist(['query', 'json'], 'must be query or json'), 'query'),
  /** Our app's credentials for HTTP Basic, where the provider wants them. */
  client_id: v.optional(text),
  client_secret: v.optional(text),
  /** The statuses that say no to the token; all others but 200 say nothing about it. @default 400 and 401, without an app credential */
  refused_statuses: v.optional(statuses),
  /** Where an error answer has its code, and the codes that say no to the token. */
  error_field: v.optional(fieldPath, 'error'),
  refused_errors: v.optional(errorCodes, []),
  /** Where the answer has the app id that the token was issued to. */
  audience_field: fieldPath,
  /** Where the answer says true for a valid token, where it does. */
  valid_field: v.optional(fieldPath),
  /** Where the answer has the person's id, where it does; it must be the user info's. */
  subject_field: v.optional(fieldPath),
  audiences,
});

const authorizationCode = v.strictObject({
  token_url: providerUrl,
  client_id: text,
  client_secret: text,
  redirect_uri: text,
  /** Where our credentials go (RFC 6749 section 2.3.1). */
  client_authentication: v.optional(v.picklist(['basic', 'form'], 'must be basic or form'), 'basic'),
  /** Where an error answer has its code, and the codes that say no to the code that was sent. */
  error_field: v.optional(fieldPath, 'error'),
  refused_errors: v.optional(errorCodes, ['invalid_grant']),
});

const oauth2Settings = v.strictObject({
  user_info: userInfo,
  app_check: v.variant(
    'method',
    [introspection, tokenInfo],
    'must say by which method (introspection or token_info) a token of another app is told from ours',
  ),
  authorization_code: v.optional(authorizationCode),
});

const oauth1Settings = v.strictObject({
  verify_url: providerUrl,
  consumer_key: text,
  consumer_secret: text,
  subject_field: v.optional(fieldPath, 'id_str'),
});

const oidcSettings = v.strictObject({ issuer: providerUrl, audiences });

/** What an operator sets for each protocol family. Settings without an app check do not exist. */
export const settingsSchemas = { oauth2: oauth2Settings, oauth1: oauth1Settings, oidc: oidcSettings };

/** Stored settings as their family's schema says. @throws ValiError for others, which `checkSettings` lets nobody store */
export const parseSettings = <Family extends ProviderFamily>(
  family: Family,
  settings: object,
): v.InferOutput<(typeof settingsSchemas)[Family]> => v.parse(settingsSchemas[family], settings);

export type OAuth2Settings = v.InferOutput<typeof oauth2Settings>;
export type OAuth1Settings = v.InferOutput<typeof oauth1Settings>;
export type OidcSettings = v.InferOutput<typeof oidcSettings>;
export type CodeExchange = v.InferOutput<typeof authorizationCode>;
export type TokenInfoCheck = v.InferOutput<typeof tokenInfo>;
export type IntrospectionCheck = v.InferOutput<typeof introspection>;

function isCallable(address: string): boolean {
  const url = URL.parse(address);
  if (!url || url.username || url.password || url.hash) return false;
  if (url.protocol === 'https:') return true;
  const isLoopback = /^(127(\.\d{1,3}){3}|\[::1\]|localhost)$/.test(url.hostname);
  return url.protocol === 'http:' && isLoopback && optionalEnvironment('LOOPBACK_PROVIDERS') === 'allowed';
}
