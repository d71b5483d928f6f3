import * as v from 'valibot';
import { platforms } from '../login-apps/platforms.ts';
import { jsonObject, keyRequired } from '../validation.ts';
import { wire } from '../wire.ts';
import { environments } from './device.ts';

const tokenText = v.string('device.token must be a string.');
/** An APNs device token in hexadecimal, of any case; stored in lower case. */
const iosToken = v.pipe(
  v.string(),
  v.regex(/^([0-9a-fA-F]{2}){32,200}$/, 'device.token must be 64 to 400 hexadecimal digits for ios.'),
  v.toLowerCase(),
);
/** An FCM registration token: opaque. */
const androidToken = v.pipe(
  v.string(),
  v.regex(/^[\x21-\x7e]{1,4096}$/, 'device.token must be 1 to 4096 visible ASCII characters for android.'),
);

/** The canonical form of a language tag; undefined when it is none. @see BCP 47, ECMA-402 section 6.2 */
function canonicalLocale(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}

const localeMessage = 'device.locale must be a language tag of at most 100 characters, such as de-AT.';
const locale = v.pipe(
  v.string(localeMessage),
  v.maxLength(100, localeMessage),
  v.transform(canonicalLocale),
  v.string(localeMessage),
  wire({ type: 'string', minLength: 2, maxLength: 100 }),
  v.description('The language of the app: a language tag (BCP 47).'),
);

const appVersionMessage = 'device.app_version must be 1 to 64 visible ASCII characters.';
const appVersion = v.pipe(
  v.string(appVersionMessage),
  v.regex(/^[\x21-\x7e]{1,64}$/, appVersionMessage),
  v.description('The version of the app.'),
);

const installationMessage = 'device.installation_id must be 1 to 128 visible ASCII characters.';
const installationId = v.pipe(
  v.string(installationMessage),
  v.regex(/^[\x21-\x7e]{1,128}$/, installationMessage),
  v.description(
    'A random id that the app keeps for as long as it is installed. A registration with another token replaces the device that the installation had, and takes over its person.',
  ),
);

const environment = v.pipe(
  v.picklist(environments, `device.environment must be ${environments.join(' or ')}.`),
  v.description('The gateway of the push service that issued the token. Without it: production.'),
);

/** What a registration may say of a device of any platform. */
const details = {
  locale: v.optional(locale),
  app_version: v.optional(appVersion),
  installation_id: v.optional(installationId),
};

/** A new device by its platform. */
const deviceOfPlatform = v.pipe(
  v.variant('platform', [
    v.pipe(
      v.object({
        platform: v.literal('ios'),
        token: iosToken,
        environment: v.optional(environment),
        ...details,
      }),
      v.title('IosDevice'),
    ),
    v.pipe(
      v.object({
        platform: v.literal('android'),
        token: androidToken,
        environment: v.optional(v.never('device.environment must not be supplied for android.')),
        ...details,
      }),
      v.title('AndroidDevice'),
    ),
  ]),
  v.title('NewDevice'),
);
export type NewDevice = v.InferOutput<typeof deviceOfPlatform>;

/** Checks a device under this name. First each field by itself, so that each one that is wrong is named. */
export const newDevice = (message: string) =>
  v.pipe(
    jsonObject(message),
    v.object(
      {
        platform: v.picklist(platforms, 'device.platform must be ios or android.'),
        token: tokenText,
        environment: v.optional(environment),
        ...details,
      },
      keyRequired('device.'),
    ),
    deviceOfPlatform,
    wire(deviceOfPlatform),
  );

const deviceMessage = 'device must be a JSON object with the fields token and platform.';

/** `{"device": {"token": …, "platform": "ios" | "android", …}}`; fields that nobody knows are ignored. */
export const registrationRequest = v.object({ device: newDevice(deviceMessage) }, ({ input }) =>
  input instanceof Object ? deviceMessage : 'The body must be a JSON object with the field device.',
);
