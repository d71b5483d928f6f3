import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';

type Call = (event: { Records: unknown[] }) => Promise<unknown>;

/** Milliseconds between two looks at the stream, and before a batch is repeated. */
const usualPause = 1_000;

const recordSchema = v.looseObject({ dynamodb: v.looseObject({ SequenceNumber: v.string() }) });
type StreamRecord = v.InferOutput<typeof recordSchema>;
/** The fields of the answers to all actions on a stream. */
const answerSchema = v.object({
  StreamDescription: v.optional(v.object({ Shards: v.array(v.object({ ShardId: v.string() })) })),
  ShardIterator: v.optional(v.string()),
  Records: v.optional(v.array(recordSchema), []),
  NextShardIterator: v.optional(v.string()),
});
const batchAnswerSchema = v.object({ batchItemFailures: v.array(v.object({ itemIdentifier: v.string() })) });

/**
 * Calls a function with the records of a table's stream, as Lambda's event source mapping does: each shard in its order, and
 * again from the first record that failed.
 * @param endpoint the address of DynamoDB Local
 * @returns ends it
 */
export function followStream(endpoint: string, StreamArn: string, call: Call) {
  const stopping = new AbortController();
  /** The place at which to go on in each shard; undefined in one that was read to its end. */
  const places = new Map<string, string | undefined>();

  const look = async (): Promise<void> => {
    const { StreamDescription } = await request(endpoint, 'DescribeStream', { StreamArn });
    for (const { ShardId } of StreamDescription?.Shards ?? []) {
      if (!places.has(ShardId)) {
        const input = { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' };
        places.set(ShardId, (await request(endpoint, 'GetShardIterator', input)).ShardIterator);
      }
      const ShardIterator = places.get(ShardId);
      if (ShardIterator === undefined) continue;
      const read = await request(endpoint, 'GetRecords', { ShardIterator, Limit: 100 });
      await deliver(read.Records, call, stopping.signal);
      places.set(ShardId, read.NextShardIterator);
    }
  };
  const follow = async (): Promise<void> => {
    for (; !stopping.signal.aborted; await wait(usualPause)) await look();
  };
  const followed = follow().catch((error: unknown) => {
    process.stderr.write(`Events are no longer published: ${String(error)}\n`);
  });
  return async (): Promise<void> => {
    stopping.abort();
    await followed;
  };
}

/** Puts back the type of an empty map, which DynamoDB Local leaves out of the records of its streams. */
const withEmptyMaps = (key: string, value: unknown) =>
  key !== 'M' && isDeepStrictEqual(value, {}) ? { M: {} } : value;

/** DynamoDB Local wants a signature, but does not check it. Its records are, as JSON, those that Lambda passes on. */
async function request(endpoint: string, action: string, input: object) {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `DynamoDBStreams_20120810.${action}`,
      'x-amz-date': '20260101T000000Z',
      authorization:
        'AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
    },
    body: JSON.stringify(input),
  });
  if (!response.ok) throw new Error(`${action}: ${response.status} ${await response.text()}`);
  return v.parse(answerSchema, JSON.parse(await response.text(), withEmptyMaps));
}

/**
 * Calls a function with records until it has done them all: again from the first one that failed, or with all of them when
 * the function itself failed.
 * @param pause milliseconds before it is called again
 */
export async function deliver(records: StreamRecord[], call: Call, signal: AbortSignal, pause = usualPause) {
  let left = records;
  while (left.length > 0 && !signal.aborted) {
    const failed = await call({ Records: left }).then(
      (answer) => v.parse(batchAnswerSchema, answer).batchItemFailures[0]?.itemIdentifier,
      () => left[0]?.dynamodb.SequenceNumber,
    );
    const from = left.findIndex(({ dynamodb }) => dynamodb.SequenceNumber === failed);
    left = from === -1 ? [] : left.slice(from);
    if (left.length > 0) await wait(pause);
  }
}
