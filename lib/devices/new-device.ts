import * as v from 'valibot';
import { platforms } from '../login-apps/platforms.ts';
import { jsonObject, keyRequired } from '../schema/validation.ts';
import { wire } from '../schema/wire.ts';
import { type details, environments } from './device.ts';

/** The canonical form of a language tag; undefined when it is none. @see BCP 47, ECMA-402 section 6.2 */
function canonicalLocale(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}

const visible = (message: string, pattern: RegExp) => v.pipe(v.string(message), v.regex(pattern, message));

/** Details of a device of any platform, as a registration gives them. @param at what stands before a field's name in messages */
function detailsAt(at: string) {
  const locale = `${at}locale must be a language tag of at most 100 characters, such as de-AT.`;
  return {
    locale: v.optional(
      v.pipe(
        v.string(locale),
        v.maxLength(100, locale),
        v.transform(canonicalLocale),
        v.string(locale),
        wire({ type: 'string', minLength: 2, maxLength: 100 }),
        v.description('The language of the app: a language tag (BCP 47).'),
      ),
    ),
    app_version: v.optional(
      v.pipe(
        visible(`${at}app_version must be 1 to 64 visible ASCII characters.`, /^[\x21-\x7e]{1,64}$/),
        v.description('The version of the app.'),
      ),
    ),
    installation_id: v.optional(
      v.pipe(
        visible(`${at}installation_id must be 1 to 128 visible ASCII characters.`, /^[\x21-\x7e]{1,128}$/),
        v.description(
          'A random id that the app keeps for as long as it is installed. A registration with another token replaces the device that the installation had, and takes over its person.',
        ),
      ),
    ),
  } satisfies Record<Exclude<keyof typeof details, 'environment'>, v.GenericSchema>;
}

const environmentAt = (at: string) =>
  v.pipe(
    v.picklist(environments, `${at}environment must be ${environments.join(' or ')}.`),
    v.description('The gateway of the push service that issued the token. Without it: production.'),
  );

const notText = (at: string): string => `${at}token must be a string.`;

/** A new device by its platform, with what a token is there. */
const deviceOfPlatformAt = (at: string) =>
  v.pipe(
    v.variant('platform', [
      v.pipe(
        v.object(
          {
            platform: v.literal('ios'),
            /** An APNs device token in hexadecimal, of any case; stored in lower case. */
            token: v.pipe(
              v.string(notText(at)),
              v.regex(
                /^([0-9a-fA-F]{2}){32,200}$/,
                `${at}token must be 64 to 400 hexadecimal digits for ios.`,
              ),
              v.toLowerCase(),
            ),
            environment: v.optional(environmentAt(at)),
            ...detailsAt(at),
          },
          keyRequired(at),
        ),
        v.title('IosDevice'),
      ),
      v.pipe(
        v.object(
          {
            platform: v.literal('android'),
            /** An FCM registration token: opaque. */
            token: v.pipe(
              v.string(notText(at)),
              v.regex(
                /^[\x21-\x7e]{1,4096}$/,
                `${at}token must be 1 to 4096 visible ASCII characters for android.`,
              ),
            ),
            environment: v.optional(v.never(`${at}environment must not be supplied for android.`)),
            ...detailsAt(at),
          },
          keyRequired(at),
        ),
        v.title('AndroidDevice'),
      ),
    ]),
    v.title('NewDevice'),
  );
export type NewDevice = v.InferOutput<ReturnType<typeof deviceOfPlatformAt>>;

/**
 * A device that is to be registered. Each field that is wrong is named, also when the platform is.
 * @param at what stands before a field's name in messages
 * @param message for what is no JSON object
 */
export function newDevice(at: string, message: string) {
  const deviceOfPlatform = deviceOfPlatformAt(at);
  const deviceOfAnyPlatform = v.object(
    {
      platform: v.picklist(platforms, `${at}platform must be ios or android.`),
      token: v.string(notText(at)),
      environment: v.optional(environmentAt(at)),
      ...detailsAt(at),
    },
    keyRequired(at),
  );
  const hasPlatform = v.object({ platform: v.picklist(platforms) });
  return v.pipe(
    jsonObject(message),
    v.lazy((input) =>
      v.is(hasPlatform, input) ? deviceOfPlatform : v.pipe(deviceOfAnyPlatform, deviceOfPlatform),
    ),
    wire(deviceOfPlatform),
  );
}

const deviceMessage = 'device must be a JSON object with the fields token and platform.';

/** `{"device": {"token": …, "platform": "ios" | "android", …}}`; fields that nobody knows are ignored. */
export const registrationRequestSchema = v.object(
  { device: newDevice('device.', deviceMessage) },
  ({ input }) =>
    input instanceof Object ? deviceMessage : 'The body must be a JSON object with the field device.',
);
