import * as v from 'valibot';
import { platforms } from '../login-apps/client-metadata.ts';
import { described, jsonSchema } from '../schema/json-schema.ts';
import { jsonObject, keyRequired } from '../schema/validation.ts';
import { type details, environments, tokenTypes } from './device.ts';

/**
 * The canonical form of a language tag; undefined for another text.
 * @see BCP 47, ECMA-402 section 6.2
 */
function canonicalLocale(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}

const visible = (name: string, longest: number) => {
  const message = `${name} must be 1 to ${longest} visible ASCII characters.`;
  return v.pipe(v.string(message), v.regex(new RegExp(`^[\\x21-\\x7e]{1,${longest}}$`), message));
};

const anyDetails = {
  locale: v.optional(
    v.pipe(
      v.message(
        v.pipe(v.string(), v.maxLength(100), v.transform(canonicalLocale), v.string()),
        'locale must be a language tag of at most 100 characters, such as de-AT.',
      ),
      jsonSchema({ type: 'string', minLength: 2, maxLength: 100 }),
      v.description('The language of the app: a language tag (BCP 47).'),
    ),
  ),
  app_version: v.optional(described(visible('app_version', 64), 'The version of the app.')),
  installation_id: v.optional(
    described(
      visible('installation_id', 128),
      'A random id that the app keeps for as long as it is installed. A registration with another token replaces the device that the installation had, and takes over its person.',
    ),
  ),
} satisfies Record<Exclude<keyof typeof details, 'token_type' | 'environment'>, v.GenericSchema>;

const tokenTypeOnWire = v.pipe(
  v.picklist(tokenTypes),
  v.title('TokenType'),
  v.description(
    'Who issued the token: `apns` (an APNs device token), `fcm` (an FCM registration token) or `fid` (a Firebase installation id). Without it: `apns` for ios, `fcm` for android.',
  ),
);
const firebaseTypes = v.picklist(['fcm', 'fid']);

const environment = v.optional(
  described(
    v.picklist(environments, `environment must be ${environments.join(' or ')}.`),
    'The gateway of the push service that issued the token. Without it: production.',
  ),
);

const anyToken = v.string('token must be a string.');

export const apnsToken = /^([0-9a-fA-F]{2}){32,200}$/;
const apnsMessage =
  'token must be 64 to 400 hexadecimal digits for ios, unless token_type is fcm or fid.';

/**
 * The token and environment of a device with opaque text for a token.
 * @param kind the devices that the messages name
 */
const firebase = (kind: string) => ({
  token: v.pipe(
    anyToken,
    v.regex(
      /^[\x21-\x7e]{1,4096}$/,
      `token must be 1 to 4096 visible ASCII characters for ${kind}.`,
    ),
  ),
  environment: v.optional(v.never(`environment must not be supplied for ${kind}.`)),
});

/**
 * A rule of the API document about one field: in an `allOf`, since some tools take other objects
 * for closed ones.
 */
const fieldWith = (name: string, schema: object) => ({
  allOf: [{ required: [name] }, { properties: { [name]: schema } }],
});

type Field = 'platform' | 'token_type' | 'token' | 'environment';
const deviceWith = <const Fields extends Record<Field, v.GenericSchema>>(fields: Fields) =>
  v.object({ ...fields, ...anyDetails }, keyRequired());

const platform = v.literal('ios');

/** A new ios device by its token type. The API document has one schema for both types. */
const iosDevice = v.pipe(
  v.variant('token_type', [
    deviceWith({
      platform,
      token_type: v.optional(v.literal('apns')),
      token: v.pipe(anyToken, v.regex(apnsToken, apnsMessage), v.toLowerCase()),
      environment,
    }),
    deviceWith({ platform, token_type: firebaseTypes, ...firebase('fcm or fid') }),
  ]),
  jsonSchema(
    deviceWith({
      platform,
      token_type: v.optional(tokenTypeOnWire),
      token: firebase('ios').token,
      environment,
    }),
    {
      if: fieldWith('token_type', { enum: firebaseTypes.options }),
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { propertyNames: { not: { enum: ['environment'] } } },
      else: fieldWith('token', { pattern: apnsToken.source }),
    },
  ),
  v.title('IosDevice'),
);

const androidFields = deviceWith({
  platform: v.literal('android'),
  token_type: v.optional(
    v.pipe(
      v.picklist(firebaseTypes.options, 'token_type must be fcm or fid for android.'),
      jsonSchema(tokenTypeOnWire),
    ),
  ),
  ...firebase('android'),
});
const androidDevice = v.pipe(
  androidFields,
  jsonSchema(androidFields, { not: fieldWith('token_type', { const: 'apns' }) }),
  v.title('AndroidDevice'),
);

const deviceOfPlatform = v.pipe(
  v.variant('platform', [iosDevice, androidDevice]),
  v.title('NewDevice'),
);
export type NewDevice = v.InferOutput<typeof deviceOfPlatform>;

const deviceOfAnyPlatform = deviceWith({
  platform: v.picklist(platforms, 'platform must be ios or android.'),
  token_type: v.optional(v.picklist(tokenTypes, 'token_type must be apns, fcm or fid.')),
  token: anyToken,
  environment,
});
const hasPlatform = v.pick(deviceOfAnyPlatform, ['platform', 'token_type']);

const deviceMessage = 'device must be a JSON object with the fields token and platform.';

/**
 * A device that is to be registered. The errors name all wrong fields, even if the platform or
 * token type is wrong.
 */
export const newDeviceSchema = v.pipe(
  jsonObject(deviceMessage),
  v.lazy((input) =>
    v.is(hasPlatform, input) ? deviceOfPlatform : v.pipe(deviceOfAnyPlatform, deviceOfPlatform),
  ),
  jsonSchema(deviceOfPlatform),
);

/** `{"device": {"token": …, "platform": "ios" | "android", …}}`; unknown fields are ignored. */
export const registrationRequestSchema = v.object({ device: newDeviceSchema }, ({ input }) =>
  input instanceof Object ? deviceMessage : 'The body must be a JSON object with the field device.',
);
