/**
 * Control characters (Unicode category Cc) that a text must not have, by its kind, as ranges of a
 * character class.
 */
const controlCharacters = {
  line: String.raw`\u0000-\u001f\u007f-\u009f`,
  /** All but tab, line feed and carriage return. */
  lines: String.raw`\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f`,
};

/** The kind of a text: one line, or several of them. */
type TextKind = keyof typeof controlCharacters;

/** The pattern of a text without control characters, as JSON Schema has it. */
export const plainTextPattern = (kind: TextKind): string => `^[^${controlCharacters[kind]}]*$`;

const patterns = {
  line: new RegExp(plainTextPattern('line')),
  lines: new RegExp(plainTextPattern('lines')),
};

/** Whether a text can be stored and shown: well-formed Unicode without control characters. */
export const isPlainText = (text: string, kind: TextKind = 'line'): boolean =>
  text.isWellFormed() && patterns[kind].test(text);

/**
 * Characters with which a text of one line could steer a terminal: control and format characters,
 * such as those that change the direction of text, and Unicode's ends of lines.
 */
export const steeringCharacter = /[\p{Cc}\p{Cf}\u2028\u2029]/u;
