import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { sendMessage } from '../../infra/local/aws.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';

/** An event as it arrives at the bus. */
export interface Arrived {
  EventBusName: string;
  Source: string;
  DetailType: string;
  Time: number;
  Detail: Record<string, unknown>;
}

/**
 * What the bus answers to a request: it takes an entry, or has an error for it, or for the whole
 * request.
 */
type BusAnswer =
  | { errors: (string | undefined)[] }
  | { status: number; type: string }
  | 'no answer';

const schemas = JSON.parse(readFileSync('docs/event-schemas.json', 'utf8'));
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(schemas, 'events');

/** Everything that is wrong with the detail of an event, by the schemas that the docs have. */
export function problemsOf({
  DetailType,
  Detail,
}: Pick<Arrived, 'DetailType' | 'Detail'>): string[] {
  const schema = schemas.$defs[DetailType];
  if (!schema) return [`${DetailType} has no schema`];
  const validate = ajv.compile({ $ref: `events#/$defs/${DetailType}` });
  validate(Detail);
  const unknown = Object.keys(Detail).filter((name) => !(name in schema.properties));
  return [
    ...(validate.errors ?? []).map(
      ({ instancePath, message }) => `${DetailType}${instancePath} ${message}`,
    ),
    ...unknown.map((name) => `${DetailType} has ${name}, which its schema does not list`),
  ];
}

/** EventBridge's PutEvents and SQS's SendMessage on this machine, which a test can make refuse. */
export async function startBusStandIn() {
  const fresh = () => ({
    /** The entries of each request, in order, also of those that fail. */
    requests: [] as Arrived[][],
    taken: [] as Arrived[],
    letters: [] as Record<string, unknown>[],
    /** Decides on each request; by default the bus takes everything. */
    decide: (entries: Arrived[]): BusAnswer => ({ errors: entries.map(() => undefined) }),
    queueIsUp: true,
    /** Milliseconds that each answer takes. */
    delay: 0,
    /** The most requests that were under way at the same time. */
    mostAtOnce: 0,
  });
  const standIn = { ...fresh(), forget: () => void Object.assign(standIn, fresh()) };
  const putEvents = (body: { Entries: (Omit<Arrived, 'Detail'> & { Detail: string })[] }) => {
    const entries = body.Entries.map((entry) => ({ ...entry, Detail: JSON.parse(entry.Detail) }));
    standIn.requests.push(entries);
    const answer = standIn.decide(entries);
    if (answer === 'no answer') return undefined;
    if ('status' in answer) return { status: answer.status, body: { __type: answer.type } };
    standIn.taken.push(...entries.filter((_, place) => answer.errors[place] === undefined));
    const Entries = answer.errors.map((ErrorCode) =>
      ErrorCode ? { ErrorCode } : { EventId: randomUUID() },
    );
    const FailedEntryCount = answer.errors.filter((error) => error !== undefined).length;
    return { status: 200, body: { FailedEntryCount, Entries } };
  };
  const takeLetter = (body: unknown) => {
    if (!standIn.queueIsUp)
      return { status: 400, body: { __type: 'AWS.SimpleQueueService.NonExistentQueue' } };
    const takeDeadLetter = (message: string) => void standIn.letters.push(JSON.parse(message));
    const sent = sendMessage({ takeDeadLetter }, body);
    return { status: 200, body: sent };
  };
  let open = 0;
  const server = await serve(async (request, response) => {
    const body = JSON.parse((await readBody(request)).toString());
    const isLetter = request.headers['x-amz-target'] === 'AmazonSQS.SendMessage';
    const answer = isLetter ? takeLetter(body) : putEvents(body);
    standIn.mostAtOnce = Math.max(standIn.mostAtOnce, ++open);
    await wait(standIn.delay);
    open -= 1;
    if (!answer) return void response.destroy();
    response.writeHead(answer.status, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(JSON.stringify(answer.body));
  });
  Object.assign(process.env, {
    EVENT_BUS_NAME: 'a-bus',
    DEAD_LETTER_QUEUE_URL: `${server.url}/dead-letters`,
    AWS_ENDPOINT_URL_EVENTBRIDGE: server.url,
    AWS_ENDPOINT_URL_SQS: server.url,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    LOG_LEVEL: 'ERROR',
  });
  return Object.assign(standIn, { close: server.close });
}
