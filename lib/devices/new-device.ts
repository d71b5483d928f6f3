import * as v from 'valibot';
import { platforms } from '../login-apps/client-metadata.ts';
import { described, jsonSchema } from '../schema/json-schema.ts';
import { isPlaceholderOfInstallation, isPlaceholderOfToken } from '../schema/placeholders.ts';
import { jsonObject, keyRequired } from '../schema/validation.ts';
import { type details, environments, tokenTypes } from './device.ts';
import { languageTagOf } from './locale.ts';

const visibleText = (longest: number, message: string) =>
  v.pipe(v.string(message), v.regex(new RegExp(`^[\\x21-\\x7e]{1,${longest}}$`), message));

/**
 * A detail of a phone, which may be null. It is undefined if it can't be used: what a phone says
 * about itself does not keep it from its messages.
 * @param read the detail in a text without spaces around it; undefined if it can't be used
 */
const detailField = (
  name: string,
  description: string,
  read: (text: string) => string | undefined,
) =>
  v.optional(
    v.pipe(
      v.nullable(v.string(`${name} must be a string.`)),
      v.transform((text) => (text === null ? undefined : read(text.trim()))),
      jsonSchema({ type: ['string', 'null'] }),
      v.description(description),
    ),
  );

const localeField = detailField(
  'locale',
  'The language of the app: a language tag (BCP 47) of at most 100 characters. Forms of Android and ICU, such as `de_AT`, become one; another text is left out.',
  (text) => (text.length <= 100 ? languageTagOf(text) : undefined),
);

const appVersionField = detailField(
  'app_version',
  'The version of the app: 1 to 64 printable ASCII characters. Another text is left out.',
  (text) => (/^[\x20-\x7e]{1,64}$/.test(text) ? text : undefined),
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
  locale: localeField,
  app_version: appVersionField,
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

/** A device of a known kind. Its token may be a placeholder, with which 1.0.0 registered devices. */
export const deviceOfKind = v.pipe(
  v.variant('platform', [iosDevice, androidDevice]),
  v.title('NewDevice'),
);
export type NewDevice = v.InferOutput<typeof deviceOfKind>;

const hasKnownKind = v.pick(anyDevice, ['platform', 'token_type']);

/** A device of no known kind, which `anyDevice` never accepts. */
const wrongDevice = v.pipe(
  anyDevice,
  v.custom<NewDevice>(() => false),
);

const deviceMessage = 'device must be a JSON object with the fields token and platform.';

/**
 * A device that is to be registered. If its platform or token type is wrong, there is no kind to
 * compare it with: then `anyDevice` names every field that is wrong for all kinds.
 */
export const newDeviceSchema = v.pipe(
  jsonObject(deviceMessage),
  v.lazy((input) => (v.is(hasKnownKind, input) ? deviceOfKind : wrongDevice)),
  v.forward(
    v.check(
      ({ token }) => !isPlaceholderOfToken(token),
      'token must come from the push service: this is a placeholder for a missing one.',
    ),
    ['token'],
  ),
  v.forward(
    v.check(
      ({ installation_id: id }) => id === undefined || !isPlaceholderOfInstallation(id),
      'installation_id must be a random id of this installation: many phones have this one.',
    ),
    ['installation_id'],
  ),
  jsonSchema(deviceOfKind),
);

/** `{"device": {"token": …, "platform": "ios" | "android", …}}`; unknown fields are ignored. */
export const registrationRequestSchema = v.object({ device: newDeviceSchema }, ({ input }) =>
  input instanceof Object ? deviceMessage : 'The body must be a JSON object with the field device.',
);
