import * as v from 'valibot';
import { jsonSchema } from '../schema/json-schema.ts';
import { isPlainText } from '../schema/plain-text.ts';

/** Whether an address is harmless in a page: no `javascript:` or `data:`. */
function isWebAddress(text: string): boolean {
  const url = URL.parse(text);
  const isOfWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  return isOfWeb && isPlainText(text);
}

const claimTextField = (
  maxLength: number,
  means: string,
  isUsable: (text: string) => boolean = (text) => isPlainText(text),
) =>
  v.pipe(
    v.string(),
    v.maxLength(maxLength),
    v.check(isUsable),
    jsonSchema({ type: 'string', maxLength }),
    v.description(means),
  );

/**
 * A boolean claim, which Apple may write as text.
 * @see
 *   https://developer.apple.com/documentation/signinwithapple/authenticating-users-with-sign-in-with-apple
 */
const flagField = (means: string) =>
  v.pipe(
    v.union([v.boolean(), v.picklist(['true', 'false'])]),
    v.transform((told) => told === true || told === 'true'),
    jsonSchema({ type: 'boolean' }),
    v.description(means),
  );

/**
 * @see OpenID Connect Core 1.0, section 5.1; RFC 5321, section 4.5.3.1 for e-mail; RFC 5646,
 *   section 4.4.1 for locales
 */
const profileEntries = {
  email: claimTextField(254, 'Not unique, and no proof of who somebody is.'),
  email_verified: flagField('Whether the provider says that the address is theirs.'),
  name: claimTextField(255, 'Their full name, to be shown.'),
  given_name: claimTextField(255, 'Their first names.'),
  family_name: claimTextField(255, 'Their last names.'),
  picture: claimTextField(2_048, 'The address of a picture of them.', isWebAddress),
  locale: claimTextField(35, 'Their language and region.'),
  phone_number: claimTextField(64, 'Not unique, and no proof of who somebody is.'),
  phone_number_verified: flagField('Whether the provider says that the number is theirs.'),
};

/** A person's profile: the claims that the settings name. */
export const profileSchema = v.pipe(v.partial(v.object(profileEntries)), v.title('Profile'));
export type Profile = v.InferOutput<typeof profileSchema>;

/** The claims of a profile of another system. Those that can't be used are undefined. */
export const importedProfileSchema = v.pipe(
  v.record(v.string(), v.unknown()),
  v.transform((told) => v.parse(profileSchema, Object.fromEntries(claimsIn(told)))),
);

/** Null and an empty text mean no claim. @see OpenID Connect Core 1.0, section 5.3.2 */
function claimsIn(told: Record<string, unknown>): [name: string, claim: unknown][] {
  const names = profileFields.filter((name) => Object.hasOwn(told, name));
  return names.map((name) => {
    const claim = told[name];
    const isUsable = claim !== '' && v.is(profileSchema, { [name]: claim });
    return [name, isUsable ? claim : undefined];
  });
}

export const profileFields = v.keyof(v.object(profileEntries)).options;
