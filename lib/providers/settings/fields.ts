import * as v from 'valibot';
import { optionalEnvironment } from '../../foundation/environment.ts';
import { profileFields } from '../../login-users/profile.ts';

export const textSchema = v.pipe(v.string('must be text'), v.nonEmpty('must not be empty'));

/**
 * An address that may be called: https at a host name, or on a development machine the loopback
 * interface.
 */
export const providerUrlSchema = v.pipe(
  textSchema,
  v.check(isWebAddress, 'must be an https address, without user, password or fragment'),
  v.check(isByName, 'must name its host, by no IP address and no loopback name'),
);

/** Error codes that a provider answers for a credential that it rejects. */
export const errorCodesSchema = v.array(textSchema, 'must be a list of error codes');

/** Error codes that are not about a credential: faults of our app, and too many requests of it. */
export const appErrorEntries = {
  app_errors: v.optional(errorCodesSchema),
  throttled_errors: v.optional(errorCodesSchema),
};

/** Forms in which our app authenticates. @see RFC 6749, section 2.3.1 */
export const clientAuthentications = ['basic', 'form'] as const;

/** One of some words. @__NO_SIDE_EFFECTS__ */
export const oneOf = <const Words extends readonly string[]>(words: Words) =>
  v.picklist(words, `must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`);

/**
 * Whether a provider verifies PKCE, or issues no code without it.
 * @see RFC 7636
 */
export const pkceRules = ['verified', 'required'] as const;

/** The app ids to which a credential may have been issued. */
export const audiences = v.pipe(
  v.array(textSchema, 'must be a list of app ids'),
  v.minLength(1, 'must name at least one app id'),
);

/** A field of a JSON answer; dots lead into objects: `data.app_id`. */
export const fieldPathSchema = v.pipe(
  textSchema,
  v.regex(/^[\w-]+(\.[\w-]+)*$/, 'must be a field name, or names joined by dots'),
);

/** The value at a path such as `data.app_id`, or undefined. */
export function valueAtPath(answer: unknown, path: string): unknown {
  let value = answer;
  for (const name of path.split('.'))
    value =
      value instanceof Object && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
  return value;
}

/** A setting of the claims that are kept, each with its path in an answer. */
export function claimPaths<const Names extends readonly string[]>(names: Names) {
  const nameSchema = v.picklist(names, `must only have ${names.join(', ')}`);
  return v.optional(v.record(nameSchema, fieldPathSchema, 'must be a JSON object'));
}

export const profile = claimPaths(profileFields);
export type ProfileSetting = v.InferOutput<typeof profile>;

function isWebAddress(address: string): boolean {
  const url = URL.parse(address);
  if (!url || url.username || url.password || url.hash) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isOwnLoopback(url));
}

/**
 * Whether the host is a name, neither an IP address in any notation nor a name of the loopback
 * interface.
 */
function isByName(address: string): boolean {
  const url = URL.parse(address);
  const internal =
    /^([\d.]+|\[.*\]|(.*\.)?localhost[46]?(\.localdomain[46]?)?\.*|(ip(v?6)-)?(localhost|loopback)\.*)$/;
  return !url || !internal.test(url.hostname) || isOwnLoopback(url);
}

const isOwnLoopback = ({ hostname }: URL): boolean =>
  /^(127(\.\d{1,3}){3}|\[::1\]|localhost)$/.test(hostname) &&
  optionalEnvironment('LOOPBACK_PROVIDERS') === 'allowed';

export const hostOf = (address: string): string => new URL(address).host;
