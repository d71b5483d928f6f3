import { gunzipSync } from 'node:zlib';
import {
  CloudWatchLogsClient,
  CreateLogStreamCommand,
  type InputLogEvent,
  PutLogEventsCommand,
  ResourceAlreadyExistsException,
  ResourceNotFoundException,
} from '@aws-sdk/client-cloudwatch-logs';
import * as v from 'valibot';
import { environment } from '../foundation/environment.ts';

const auditLogGroup = environment('AUDIT_LOG_GROUP');
const logs = new CloudWatchLogsClient();

/** The most lines of one request: CloudWatch takes 1 MiB, and no audit line has more than 2 KiB. */
const mostLines = 400;

/**
 * The message of a subscription.
 * @see CloudWatch Logs user guide, "Subscription filters with Lambda"
 */
const deliverySchema = v.object({ awslogs: v.object({ data: v.string() }) });

const contentSchema = v.object({
  messageType: v.picklist(['DATA_MESSAGE', 'CONTROL_MESSAGE']),
  /** The log group that the lines are from, as CloudWatch names it: `/STACK/add-comment`. */
  logGroup: v.string(),
  logEvents: v.array(v.object({ id: v.string(), timestamp: v.number(), message: v.string() })),
});

/**
 * Copies the lines of a delivery to the audit log group, with their own times, into a stream named
 * after the function that wrote them.
 * @throws Error unless CloudWatch took every line; Lambda then tries again, and at last keeps the
 *   delivery in a queue
 */
export async function forwardAuditLines(event: unknown): Promise<void> {
  const { messageType, logGroup, logEvents } = readDelivery(event);
  if (messageType === 'CONTROL_MESSAGE') return;
  const lines = logEvents.map((line) => auditLine(logGroup, line));
  // CloudWatch takes the lines of a request only in the order of their times.
  const inOrder = lines.toSorted((a, b) => a.timestamp - b.timestamp);
  const functionName = logGroup.slice(logGroup.lastIndexOf('/') + 1);
  for (let start = 0; start < inOrder.length; start += mostLines) {
    const some = inOrder.slice(start, start + mostLines);
    await putLines(functionName, some);
  }
}

/** The lines of a delivery, which come as JSON, compressed with gzip, in Base64. */
function readDelivery(event: unknown): v.InferOutput<typeof contentSchema> {
  const { awslogs } = v.parse(deliverySchema, event);
  const compressed = Buffer.from(awslogs.data, 'base64');
  const json = gunzipSync(compressed).toString();
  return v.parse(contentSchema, JSON.parse(json));
}

type Line = v.InferOutput<typeof contentSchema>['logEvents'][number];

/**
 * A line as the audit log has it. Its log group is added, so that a function can only speak for
 * itself, and its id, by which a line that is delivered twice is recognized.
 */
function auditLine(logGroup: string, { id, timestamp, message }: Line) {
  const content = { ...JSON.parse(message), log_group: logGroup, log_event_id: id };
  return { timestamp, message: JSON.stringify(content) };
}

/**
 * Puts lines into a stream of the audit log group.
 * @throws Error when CloudWatch leaves some of them out
 */
async function putLines(logStreamName: string, logEvents: InputLogEvent[]): Promise<void> {
  const stream = { logGroupName: auditLogGroup(), logStreamName };
  const lines = new PutLogEventsCommand({ ...stream, logEvents });
  const answer = await logs.send(lines).catch(async (error: unknown) => {
    if (!(error instanceof ResourceNotFoundException)) throw error;
    // A function has no stream before its first audit line.
    await createStream(stream);
    return logs.send(lines);
  });
  // Lines that are too old or from the future are left out of an answer with the status 200.
  if (answer.rejectedLogEventsInfo) throw new Error('CloudWatch Logs did not take every line.');
}

/** Creates a stream, unless another delivery has created it meanwhile. */
async function createStream(stream: {
  logGroupName: string;
  logStreamName: string;
}): Promise<void> {
  try {
    await logs.send(new CreateLogStreamCommand(stream));
  } catch (error) {
    if (!(error instanceof ResourceAlreadyExistsException)) throw error;
  }
}
