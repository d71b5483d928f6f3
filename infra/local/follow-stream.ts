import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';

type Call = (event: { Records: unknown[] }) => Promise<unknown>;

interface FollowOptions {
  /** The address of DynamoDB Local. */
  endpoint: string;
  streamArn: string;
  /** Calls the function with a batch of records. */
  call: Call;
}

/** Milliseconds between two looks at the stream, and before a batch is repeated. */
const usualPause = 1_000;

const recordSchema = v.looseObject({ dynamodb: v.looseObject({ SequenceNumber: v.string() }) });
const shardsAnswerSchema = v.object({
  StreamDescription: v.object({ Shards: v.array(v.object({ ShardId: v.string() })) }),
});
const iteratorAnswerSchema = v.object({ ShardIterator: v.string() });
const recordsAnswerSchema = v.object({
  Records: v.array(recordSchema),
  NextShardIterator: v.optional(v.string()),
});
const batchAnswerSchema = v.object({ batchItemFailures: v.array(v.object({ itemIdentifier: v.string() })) });

/**
 * Calls a function with the records of a table's stream, as Lambda's event source mapping does: each shard in its order, and
 * again from the first record that failed.
 */
export function followStream({ endpoint, streamArn: StreamArn, call }: FollowOptions) {
  const stopping = new AbortController();
  /** The place at which to go on in each shard; undefined in one that was read to its end. */
  const places = new Map<string, string | undefined>();

  const startOf = async (ShardId: string): Promise<string> => {
    const input = { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' };
    return v.parse(iteratorAnswerSchema, await ask(endpoint, 'GetShardIterator', input)).ShardIterator;
  };
  const look = async (): Promise<void> => {
    const described = await ask(endpoint, 'DescribeStream', { StreamArn });
    for (const { ShardId } of v.parse(shardsAnswerSchema, described).StreamDescription.Shards) {
      if (!places.has(ShardId)) places.set(ShardId, await startOf(ShardId));
      const ShardIterator = places.get(ShardId);
      if (ShardIterator === undefined) continue;
      const read = v.parse(
        recordsAnswerSchema,
        await ask(endpoint, 'GetRecords', { ShardIterator, Limit: 100 }),
      );
      await deliver(read.Records, call, stopping.signal);
      places.set(ShardId, read.NextShardIterator);
    }
  };
  const follow = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await look();
      await wait(usualPause);
    }
  };
  const followed = follow().catch((error: unknown) => {
    process.stderr.write(`Events are no longer published: ${String(error)}\n`);
  });
  return {
    close: (): Promise<void> => {
      stopping.abort();
      return followed;
    },
  };
}

/** DynamoDB Local wants a signature, but does not check it. Its records are, as JSON, those that Lambda passes on. */
async function ask(endpoint: string, action: string, input: object): Promise<unknown> {
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
  return response.json();
}

/**
 * Calls a function with records until it has done them all: again from the first one that failed, or with all of them when
 * the function itself failed.
 * @param pause milliseconds before it is called again
 */
export async function deliver(
  records: v.InferOutput<typeof recordSchema>[],
  call: Call,
  signal: AbortSignal,
  pause = usualPause,
): Promise<void> {
  let left = records;
  while (left.length > 0 && !signal.aborted) {
    const answer = await call({ Records: left }).catch(() => undefined);
    const [failed] =
      answer === undefined
        ? left
        : v
            .parse(batchAnswerSchema, answer)
            .batchItemFailures.map(({ itemIdentifier }) =>
              left.find(({ dynamodb }) => dynamodb.SequenceNumber === itemIdentifier),
            );
    left = failed ? left.slice(left.indexOf(failed)) : [];
    if (failed) await wait(pause);
  }
}
