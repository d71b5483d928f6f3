/**
 * Texts that programs write where an id is missing, in lower case: everybody who has one would be
 * the same person or phone.
 */
const writtenForNothing = [
  'null',
  '(null)',
  '<null>',
  'undefined',
  'nil',
  'none',
  'nan',
  '[object object]',
  // The nil UUID of RFC 9562, section 5.9.
  '00000000-0000-0000-0000-000000000000',
];

/** Whether a text stands for a missing id. */
export const isPlaceholder = (text: string): boolean =>
  writtenForNothing.includes(text.trim().toLowerCase());

/** The end of the message about such an id, after the name of its field. */
export const isMissing = 'is a placeholder for a missing value, such as null.';

/** Texts that apps and push services write for a missing push token. */
const noTokens = ['blacklisted', 'unregistered'];

/** Whether a text stands for a missing push token. Zeros alone do, too. */
export const isPlaceholderOfToken = (text: string): boolean =>
  isPlaceholder(text) || noTokens.includes(text.toLowerCase()) || isZero(text);

/**
 * Ids that many phones have, in lower case: the `ANDROID_ID` of an early Android, and what Android
 * says of a serial number or a MAC address that an app may not know.
 */
const sharedByPhones = ['9774d56d682e549c', 'unknown', '02:00:00:00:00:00'];

/** Whether a text stands for a missing installation id, or many phones have it. */
export const isPlaceholderOfInstallation = (text: string): boolean =>
  isPlaceholder(text) || sharedByPhones.includes(text.toLowerCase()) || isZero(text);

/** Whether a text has no letters and digits but zeros, as an advertising id that is withheld. */
const isZero = (text: string): boolean => /^[0:.-]+$/.test(text);
