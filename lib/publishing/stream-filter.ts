import type { ChangePattern } from './change-pattern.ts';
import { publishedKinds } from './projections.ts';

/** A pattern of the filter: a record of the stream passes if it matches one of them. */
interface StreamPattern {
  dynamodb: { Keys: { sk: { S: { prefix: string }[] } } };
  $or?: ChangePattern[];
}

const kinds = Object.entries(publishedKinds);
const wholeKinds = kinds.filter(([, { changes }]) => changes === undefined);

/**
 * The filter of the table's stream, by which Lambda invokes the publishing function only for
 * changes that may publish something. A mapping may have five patterns.
 * @see AWS Lambda developer guide, "Control which events Lambda sends to your function"
 */
export const streamFilter: StreamPattern[] = [
  { dynamodb: keysOf(wholeKinds.map(([kind]) => kind)) },
  ...kinds.flatMap(([kind, { changes }]) =>
    changes ? { dynamodb: keysOf([kind]), $or: changes } : [],
  ),
];

function keysOf(ofKinds: string[]): StreamPattern['dynamodb'] {
  return { Keys: { sk: { S: ofKinds.map((prefix) => ({ prefix })) } } };
}
