import * as v from 'valibot';
import { optionalEnvironment } from '../environment.ts';

export const textSchema = v.pipe(v.string('must be text'), v.nonEmpty('must not be empty'));

/** An address that may be called: https, or on a development machine http on the loopback interface. */
export const providerUrlSchema = v.pipe(
  textSchema,
  v.check(isCallable, 'must be an https address, without user, password or fragment'),
);

/** A setting with the text that the docs have about it. */
export const described = <const Schema extends v.GenericSchema>(schema: Schema, means: string) =>
  v.pipe(schema, v.description(means));

/** A credential counts only if it was issued to one of these apps. */
export const audiences = described(
  v.pipe(v.array(textSchema, 'must be a list of app ids'), v.minLength(1, 'must name at least one app id')),
  'a list of your app ids there, for instance those of your iOS, Android and web apps',
);

/** A field of a JSON answer; dots lead into objects: `data.app_id`. */
export const fieldPathSchema = v.pipe(
  textSchema,
  v.regex(/^[\w-]+(\.[\w-]+)*$/, 'must be a field name, or names joined by dots'),
);

function isCallable(address: string): boolean {
  const url = URL.parse(address);
  if (!url || url.username || url.password || url.hash) return false;
  if (url.protocol === 'https:') return true;
  const isLoopback = /^(127(\.\d{1,3}){3}|\[::1\]|localhost)$/.test(url.hostname);
  return url.protocol === 'http:' && isLoopback && optionalEnvironment('LOOPBACK_PROVIDERS') === 'allowed';
}
