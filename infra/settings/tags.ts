import * as v from 'valibot';

const message = 'must be an object of names and texts, or name=value pairs separated by commas';

/** `a=b,c=d`, as the command line has it, as an object. A value may contain `=`. */
const pairsOf = (list: string): unknown =>
  Object.fromEntries(list.split(',').map((pair) => pair.split(/=(.*)/s)));

const characters = '[\\p{L}\\p{Z}\\p{N}_.:/=+@-]';

/**
 * The tags of a deployment, which AWS limits to 50; `aws:` is its own. CloudFormation adds three, and the stack one.
 * @see AWS Organizations user guide, "Tag naming limits and requirements"
 */
export const tagsSchema = v.pipe(
  v.unknown(),
  v.transform((value) => (typeof value === 'string' ? pairsOf(value) : value)),
  v.record(
    v.pipe(v.string(message), v.regex(new RegExp(`^(?!aws:)${characters}{1,128}$`, 'iu'), message)),
    v.pipe(v.string(message), v.regex(new RegExp(`^${characters}{0,256}$`, 'u'), message)),
    message,
  ),
  v.check((tags) => Object.keys(tags).length > 0 && Object.keys(tags).length <= 46, message),
);
