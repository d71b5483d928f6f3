import * as v from 'valibot';

/** The values that a setting may have: a schema of them, and their description for people. */
interface Values<Schema extends v.GenericSchema> {
  /** The end of the error message `must be …`. */
  allowed: string;
  schema: Schema;
}

/** Values with the one message of their schema. */
export const limited = <const Schema extends v.GenericSchema>(allowed: string, schema: Schema) => ({
  allowed,
  schema: v.message(schema, `must be ${allowed}`),
});

/** The texts of a setting for people: the cells of its row in `docs/settings.md`. */
export interface SettingText {
  meaning: string;
  allowed: string;
  /** The default in Markdown; empty if there is none. */
  defaultText: string;
}

interface About<Schema extends v.GenericSchema> {
  meaning: string;
  values: Values<Schema>;
}

/**
 * A setting: the optional schema of its value, with its texts.
 * @param about `default` is a value; `defaultsTo` says in Markdown which default another setting
 *   decides
 */
export function setting<
  const Schema extends v.GenericSchema,
  const Default extends v.InferOutput<Schema>,
>(about: About<Schema> & { default: Default }): v.OptionalSchema<Schema, Default> & SettingText;
export function setting<const Schema extends v.GenericSchema>(
  about: About<Schema> & { defaultsTo?: string },
): v.OptionalSchema<Schema, undefined> & SettingText;
export function setting<Schema extends v.GenericSchema>({
  meaning,
  values,
  default: value,
  defaultsTo = '',
}: About<Schema> & { default?: v.InferInput<Schema>; defaultsTo?: string }) {
  const defaultText = value === undefined ? defaultsTo : `\`${value}\``;
  const schema = v.optional(values.schema, value);
  return { ...schema, meaning, allowed: values.allowed, defaultText };
}

/** A value of a file, or what a text stands for: the CDK passes what `-c` sets as text. */
const fromText = (convert: (text: string) => unknown) =>
  v.pipe(
    v.unknown(),
    v.transform((value) => (typeof value === 'string' ? convert(value) : value)),
  );

const numberSchema = fromText((text) => (/^\d{1,9}$/.test(text) ? Number(text) : text));

export const whole = (least: number, most: number) =>
  limited(
    `a whole number from ${least} to ${most}`,
    v.pipe(numberSchema, v.number(), v.integer(), v.minValue(least), v.maxValue(most)),
  );

export const numberAmong = <const Numbers extends readonly number[]>(numbers: Numbers) =>
  limited(`one of ${numbers.join(', ')}`, v.pipe(numberSchema, v.picklist(numbers)));

export const either = <const Names extends readonly string[]>(...names: Names) =>
  limited(names.join(' or '), v.picklist(names));

const truths = new Map([
  ['true', true],
  ['false', false],
]);

export const trueOrFalse = limited(
  'true or false',
  v.pipe(
    fromText((text) => truths.get(text) ?? text),
    v.boolean(),
  ),
);

/** A list, or a text with commas. */
export const list = <Member extends v.GenericSchema>(member: Member, allowed: string) =>
  limited(
    allowed,
    v.pipe(
      fromText((text) => text.split(',')),
      v.array(member),
    ),
  );

export const text = (pattern: RegExp, allowed: string) =>
  limited(allowed, v.pipe(v.string(), v.regex(pattern)));

/** The region in the ARN of a resource that may be anywhere. */
export const anyRegion = '[a-z\\d-]+';

/** The ARN of a resource; its region and itself are regular expressions. */
export const arn = (service: string, region: string, resource: string, kind: string) =>
  text(
    new RegExp(`^arn:aws[\\w-]*:${service}:${region}:\\d{12}:${resource}$`),
    `the ARN of ${kind}`,
  );

/** The name of a deployment, which is that of its stack. */
export const deploymentName = text(
  /^[A-Za-z][A-Za-z0-9-]{0,39}$/,
  'letters, digits and hyphens, at most 40',
);

const tagCharacters = '[\\p{L}\\p{Z}\\p{N}_.:/=+@-]';
const tagName = new RegExp(`^(?!aws:)${tagCharacters}{1,128}$`, 'iu');
const tagValue = new RegExp(`^${tagCharacters}{0,256}$`, 'u');

/** AWS allows 50 tags, of which CloudFormation sets three and the stack one. */
const mostTags = 46;

const tagsOfText = (text: string) => {
  // A value may contain `=`.
  const pairs = text.split(',').map((pair) => pair.split(/=(.*)/s));
  return Object.fromEntries(pairs);
};

/** The tags of a deployment. The prefix `aws:` is AWS's own. */
export const tags = limited(
  'an object of names and texts, or name=value pairs separated by commas',
  v.pipe(
    fromText(tagsOfText),
    v.record(v.pipe(v.string(), v.regex(tagName)), v.pipe(v.string(), v.regex(tagValue))),
    v.check((tags) => Object.keys(tags).length > 0),
    v.check((tags) => Object.keys(tags).length <= mostTags),
  ),
);
