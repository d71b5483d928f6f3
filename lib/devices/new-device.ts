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

const visibleText = (longest: number, message: string) =>
  v.pipe(v.string(message), v.regex(new RegExp(`^[\\x21-\\x7e]{1,${longest}}$`), message));

const localeField = v.pipe(
  v.message(
    v.pipe(v.string(), v.maxLength(100), v.transform(canonicalLocale), v.string()),
    'locale must be a language tag of at most 100 characters, such as de-AT.',
  ),
  jsonSchema({ type: 'string', minLength: 2, maxLength: 100 }),
  v.description('The language of the app: a language tag (BCP 47).'),
);

const appVersionField = described(
  visibleText(64, 'app_version must be 1 to 64 visible ASCII characters.'),
  'The version of the app.',
);

const installationIdField = described(
  visibleText(128, 'installation_id must be 1 to 128 visible ASCII characters.'),
  'A random id that the app keeps for as long as it is installed. A registration with another token replaces the device that the installation had, and takes over its person.',
);

const tokenTypeField = v.pipe(
  v.picklist(tokenTypes, 'token_type must be apns, fcm or fid.'),
  v.title('TokenType'),
  v.description(
    'Who issued the token: `apns` (an APNs device token), `fcm` (an FCM registration token) or `fid` (a Firebase installation id). Without it: `apns` for ios, `fcm` for android.',
  ),
);

const environmentField = described(
  v.picklist(environments, `environment must be ${environments.join(' or ')}.`),
  'The gateway of the push service that issued the token. Without it: production.',
);

/**
 * The fields of any device. Each kind of device below has these, and names only those that are
 * narrower for it.
 */
const fields = {
  platform: v.picklist(platforms, 'platform must be ios or android.'),
  token_type: v.optional(tokenTypeField),
  token: v.string('token must be a string.'),
  environment: v.optional(environmentField),
  locale: v.optional(localeField),
  app_version: v.optional(appVersionField),
  installation_id: v.optional(installationIdField),
} satisfies Record<'platform' | 'token' | keyof typeof details, v.GenericSchema>;

const anyDevice = v.object(fields, keyRequired());

/** Token types of Firebase: opaque texts, which have no environment. */
const firebaseTypes = ['fcm', 'fid'] as const;

const firebaseToken = (devices: string) =>
  v.pipe(
    fields.token,
    v.regex(
      /^[\x21-\x7e]{1,4096}$/,
      `token must be 1 to 4096 visible ASCII characters for ${devices}.`,
    ),
  );

const noEnvironment = (devices: string) =>
  v.optional(v.never(`environment must not be supplied for ${devices}.`));

export const apnsToken = /^([0-9a-fA-F]{2}){32,200}$/;

const iosWithApns = v.object(
  {
    ...fields,
    platform: v.literal('ios'),
    token_type: v.optional(v.literal('apns')),
    token: v.pipe(
      fields.token,
      v.regex(
        apnsToken,
        'token must be 64 to 400 hexadecimal digits for ios, unless token_type is fcm or fid.',
      ),
      v.toLowerCase(),
    ),
  },
  keyRequired(),
);

const iosWithFirebase = v.object(
  {
    ...fields,
    platform: v.literal('ios'),
    token_type: v.picklist(firebaseTypes),
    token: firebaseToken('fcm or fid'),
    environment: noEnvironment('fcm or fid'),
  },
  keyRequired(),
);

const android = v.object(
  {
    ...fields,
    platform: v.literal('android'),
    token_type: v.optional(
      v.pipe(
        v.picklist(firebaseTypes, 'token_type must be fcm or fid for android.'),
        jsonSchema(tokenTypeField),
      ),
    ),
    token: firebaseToken('android'),
    environment: noEnvironment('android'),
  },
  keyRequired(),
);

/**
 * A rule of the API document about one field. It stands in an `allOf`, since some tools take other
 * objects for closed ones.
 */
const fieldWith = (name: string, schema: object) => ({
  allOf: [{ required: [name] }, { properties: { [name]: schema } }],
});

/** A device of ios, which the API document has as one schema, with a rule for the token types. */
const iosDevice = v.pipe(
  v.variant('token_type', [iosWithApns, iosWithFirebase]),
  jsonSchema(v.object({ ...fields, platform: v.literal('ios'), token: firebaseToken('ios') }), {
    if: fieldWith('token_type', { enum: firebaseTypes }),
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { propertyNames: { not: { enum: ['environment'] } } },
    else: fieldWith('token', { pattern: apnsToken.source }),
  }),
  v.title('IosDevice'),
);

const androidDevice = v.pipe(
  android,
  jsonSchema(android, { not: fieldWith('token_type', { const: 'apns' }) }),
  v.title('AndroidDevice'),
);

const device = v.pipe(v.variant('platform', [iosDevice, androidDevice]), v.title('NewDevice'));
export type NewDevice = v.InferOutput<typeof device>;

const hasKnownKind = v.pick(anyDevice, ['platform', 'token_type']);

const deviceMessage = 'device must be a JSON object with the fields token and platform.';

/**
 * A device that is to be registered. If its platform or token type is wrong, there is no kind to
 * compare it with: then `anyDevice` names every field that is wrong for all kinds.
 */
export const newDeviceSchema = v.pipe(
  jsonObject(deviceMessage),
  v.lazy((input) => (v.is(hasKnownKind, input) ? device : v.pipe(anyDevice, device))),
  jsonSchema(device),
);

/** `{"device": {"token": …, "platform": "ios" | "android", …}}`; unknown fields are ignored. */
export const registrationRequestSchema = v.object({ device: newDeviceSchema }, ({ input }) =>
  input instanceof Object ? deviceMessage : 'The body must be a JSON object with the field device.',
);
