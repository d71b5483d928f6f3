import { gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { readBody, serve } from '../../infra/local/loopback-server.ts';

/** What CloudWatch Logs was sent. */
let requests: {
  target: string;
  body: {
    logGroupName: string;
    logStreamName: string;
    logEvents: { timestamp: number; message: string }[];
  };
}[] = [];
let answer: { status: number; body: object };
/** Answers to the next requests, before that one. */
let answersBefore: (typeof answer)[];

const logs = await serve((request, response) => {
  void readBody(request).then((body) => {
    requests.push({
      target: String(request.headers['x-amz-target']),
      body: JSON.parse(body.toString()),
    });
    const { status, body: content } = answersBefore.shift() ?? answer;
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(JSON.stringify(content));
  });
});
afterAll(() => logs.close());

Object.assign(process.env, {
  AUDIT_LOG_GROUP: 'the-audit-log',
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'local',
  AWS_SECRET_ACCESS_KEY: 'local',
  AWS_MAX_ATTEMPTS: '1',
  AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: logs.url,
});
const { handler } = await import('../../functions/forward-audit.ts');

beforeEach(() => {
  requests = [];
  answer = { status: 200, body: {} };
  answersBefore = [];
});

const refusal = (__type: string) => ({ status: 400, body: { __type } });

/** What CloudWatch delivers of the log of `add-comment`. */
const deliver = (logEvents: object[], messageType = 'DATA_MESSAGE') => {
  const content = {
    messageType,
    owner: '1',
    logGroup: '/a-stack/add-comment',
    logStream: 'x',
    logEvents,
  };
  const data = gzipSync(JSON.stringify(content)).toString('base64');
  return handler({ awslogs: { data } }, { awsRequestId: 'r-1' });
};
const line = (number: number) => ({
  id: `id-${number}`,
  timestamp: 1_700_000_000_000 + number,
  message: `{"event":"audit","number":${number}}\n`,
});

describe('the forwarder', () => {
  test('copies lines with their times into the stream of the function, and says where they come from', async () => {
    await deliver([line(2), line(1)]);
    const from = (number: number) => ({
      timestamp: 1_700_000_000_000 + number,
      message: JSON.stringify({
        event: 'audit',
        number,
        log_group: '/a-stack/add-comment',
        log_event_id: `id-${number}`,
      }),
    });
    expect(requests).toEqual([
      {
        target: 'Logs_20140328.PutLogEvents',
        body: {
          logGroupName: 'the-audit-log',
          logStreamName: 'add-comment',
          logEvents: [from(1), from(2)],
        },
      },
    ]);
  });

  test.each([
    ['', { status: 200, body: {} }],
    [', which another delivery has created meanwhile', refusal('ResourceAlreadyExistsException')],
  ])("creates the stream of a function's first lines%s", async (_, created) => {
    answersBefore = [refusal('ResourceNotFoundException'), created];
    await deliver([line(1)]);
    const [put, create, again] = requests;
    expect(create).toEqual({
      target: 'Logs_20140328.CreateLogStream',
      body: { logGroupName: 'the-audit-log', logStreamName: 'add-comment' },
    });
    expect(again).toEqual(put);
    expect(requests).toHaveLength(3);
  });

  test('a function cannot speak for another one', async () => {
    await deliver([{ ...line(1), message: '{"event":"audit","log_group":"/a-stack/operator"}' }]);
    const [message] = requests[0]?.body.logEvents ?? [];
    expect(JSON.parse(message?.message ?? '')).toMatchObject({ log_group: '/a-stack/add-comment' });
  });

  test('sends many lines in several requests, and none twice', async () => {
    await deliver(Array.from({ length: 1_000 }, (_, number) => line(number)));
    const sent = requests.map(({ body }) => body.logEvents);
    expect(sent.map(({ length }) => length)).toEqual([400, 400, 200]);
    expect(new Set(sent.flat().map(({ message }) => message)).size).toBe(1_000);
  });

  test("answers CloudWatch's trial delivery without writing anything", async () => {
    await deliver([line(1)], 'CONTROL_MESSAGE');
    expect(requests).toEqual([]);
  });

  test.each([
    ['an error of CloudWatch', { status: 500, body: {} }],
    ['a group that does not exist', refusal('ResourceNotFoundException')],
    [
      'lines that are left out',
      { status: 200, body: { rejectedLogEventsInfo: { tooOldLogEventEndIndex: 1 } } },
    ],
  ])('fails on %s, so that Lambda tries again and then keeps the lines', async (_, wrong) => {
    answer = wrong;
    await expect(deliver([line(1)])).rejects.toThrow();
  });
});
