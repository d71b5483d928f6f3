/** Control and format characters, such as those that turn the direction of text, and ends of lines. */
const steering = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** `\u202e`; two of these for a character outside the basic plane. @see RFC 8259 section 7 */
const escaped = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');

/** A text of one line in which no character can steer a terminal. */
export const harmless = (text: string): string => text.replaceAll(steering, escaped);

type Output = Pick<NodeJS.WriteStream, 'isTTY' | 'write'>;

/**
 * Output that can't steer the terminal on which it is shown, since names, subjects and addresses come from others. JSON
 * stays JSON of the same value. A program gets everything as it is.
 */
export const harmlessOn = (output: Output) => ({
  isTTY: output.isTTY,
  write: (text: string): boolean =>
    output.write(output.isTTY ? text.split('\n').map(harmless).join('\n') : text),
});
