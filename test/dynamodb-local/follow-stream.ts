import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import { passesFilter } from '../../infra/local/filter-stream.ts';

type Call = (event: { Records: unknown[] }) => Promise<unknown>;

/** Milliseconds between two looks at the stream, and before a batch is repeated. */
const usualPause = 1_000;

const recordSchema = v.looseObject({ dynamodb: v.looseObject({ SequenceNumber: v.string() }) });
type StreamRecord = v.InferOutput<typeof recordSchema>;
/** The answer to any action on a stream. */
const answerSchema = v.object({
  StreamDescription: v.optional(v.object({ Shards: v.array(v.object({ ShardId: v.string() })) })),
  ShardIterator: v.optional(v.string()),
  Records: v.optional(v.array(recordSchema), []),
  NextShardIterator: v.optional(v.string()),
});
const batchAnswerSchema = v.object({
  batchItemFailures: v.array(v.object({ itemIdentifier: v.string() })),
});

/**
 * Calls a function with the records of a table's stream that pass its filter, each shard in its
 * order, as Lambda does.
 * @returns what ends it
 */
export function followStream(endpoint: string, StreamArn: string, call: Call) {
  const stopping = new AbortController();
  /** The iterator of each shard; undefined for one that was read to its end. */
  const iterators = new Map<string, string | undefined>();
  const follow = async (): Promise<void> => {
    for (; !stopping.signal.aborted; await wait(usualPause)) {
      const { StreamDescription } = await request(endpoint, 'DescribeStream', { StreamArn });
      for (const { ShardId } of StreamDescription?.Shards ?? []) {
        if (!iterators.has(ShardId)) {
          const input = { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' };
          iterators.set(
            ShardId,
            (await request(endpoint, 'GetShardIterator', input)).ShardIterator,
          );
        }
        const ShardIterator = iterators.get(ShardId);
        if (ShardIterator === undefined) continue;
        const read = await request(endpoint, 'GetRecords', { ShardIterator, Limit: 100 });
        await deliver(read.Records.filter(passesFilter), call, stopping.signal);
        iterators.set(ShardId, read.NextShardIterator);
      }
    }
  };
  const followed = follow().catch((error: unknown) => {
    process.stderr.write(`Events are no longer published: ${String(error)}\n`);
  });
  return async (): Promise<void> => {
    stopping.abort();
    await followed;
  };
}

/**
 * Puts back the type of an empty map, which DynamoDB Local leaves out of the records of its
 * streams.
 */
const withEmptyMaps = (key: string, value: unknown) =>
  key !== 'M' && isDeepStrictEqual(value, {}) ? { M: {} } : value;

/**
 * Sends a request to DynamoDB Local, which does not check the signature. Its records are the JSON
 * that Lambda passes on.
 */
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
 * Calls a function until it has done all records: from the first that failed, or all.
 * @param pause milliseconds between calls
 */
export async function deliver(
  records: StreamRecord[],
  call: Call,
  signal: AbortSignal,
  pause = usualPause,
) {
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
