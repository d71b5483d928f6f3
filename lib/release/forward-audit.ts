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
 * Copies lines to the audit log group, with their own times, into a stream named after the function
 * that wrote them. Each gets its log group, so that a function can only speak for itself, and its
 * id, which tells a line that is delivered twice.
 * @throws Error unless CloudWatch took every line; Lambda then tries again, and at last keeps the
 *   delivery in a queue
 */
export async function forwardAuditLines(event: unknown): Promise<void> {
  const { data } = v.parse(deliverySchema, event).awslogs;
  const content = JSON.parse(gunzipSync(Buffer.from(data, 'base64')).toString());
  const { messageType, logGroup, logEvents } = v.parse(contentSchema, content);
  if (messageType === 'CONTROL_MESSAGE') return;
  const lines = logEvents.map(({ id, timestamp, message }) => ({
    timestamp,
    message: JSON.stringify({ ...JSON.parse(message), log_group: logGroup, log_event_id: id }),
  }));
  const inOrder = lines.toSorted((a, b) => a.timestamp - b.timestamp);
  const logStreamName = logGroup.slice(logGroup.lastIndexOf('/') + 1);
  for (let start = 0; start < inOrder.length; start += mostLines)
    await put(logStreamName, inOrder.slice(start, start + mostLines));
}

async function put(logStreamName: string, logEvents: InputLogEvent[]): Promise<void> {
  const stream = { logGroupName: auditLogGroup(), logStreamName };
  const lines = new PutLogEventsCommand({ ...stream, logEvents });
  const { rejectedLogEventsInfo } = await logs.send(lines).catch(async (error: unknown) => {
    if (!(error instanceof ResourceNotFoundException)) throw error;
    // A function that had no audit line yet has no stream. Another delivery may create it
    // meanwhile.
    await logs.send(new CreateLogStreamCommand(stream)).catch((problem: unknown) => {
      if (!(problem instanceof ResourceAlreadyExistsException)) throw problem;
    });
    return logs.send(lines);
  });
  // Lines that are too old or from the future are left out with a status of 200.
  if (rejectedLogEventsInfo) throw new Error('CloudWatch Logs did not take every line.');
}
