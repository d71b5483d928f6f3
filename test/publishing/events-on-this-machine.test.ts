import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import type { Envelope } from '../../infra/local/aws.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import { eventually, newPerson } from '../support/people.ts';
import { serviceOf } from '../support/service.ts';
import { type RunningService, startService } from '../support/start-service.ts';
import { checkEveryEvent } from './every-event.ts';

const received: Envelope[] = [];
const consumer = await serve(async (request, response) => {
  received.push(JSON.parse((await readBody(request)).toString()));
  response.end();
});
afterAll(() => consumer.close());

const environment = { EVENTS_TO: consumer.url, DYNAMODB_ENDPOINT: '' };

/** Starts a service that sends its events to the consumer; it ends with the test. */
async function start(more: Record<string, string> = {}): Promise<RunningService> {
  const running = await startService({ ...environment, ...more });
  ends.push(running.stop);
  return running;
}
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const arrived = () =>
  received.map(({ 'detail-type': DetailType, detail: Detail }) => ({ DetailType, Detail }));

const printedBy = (output: string): Envelope[] =>
  [...output.matchAll(/^event (\{.*\})$/gm)].map(([, event = '']) => JSON.parse(event));

test('a consumer gets each type of event, in order, as the terminal shows it', async () => {
  received.length = 0;
  const running = await start();
  await checkEveryEvent(serviceOf(running.demo, running.directory), arrived);
  expect(printedBy(running.output()).slice(0, received.length)).toEqual(received);
});

test('kept data are no news after a restart; whatever happens next is', async () => {
  const LOCAL_DATA = join(mkdtempSync(join(tmpdir(), 'events-')), 'data');
  received.length = 0;
  const first = await start({ LOCAL_DATA });
  const { loginUserId } = await newPerson(serviceOf(first.demo, first.directory));
  const isOurs = ({ Detail }: { Detail: Record<string, unknown> }) =>
    Detail.login_user_id === loginUserId;
  await eventually(arrived, (found) => found.filter(isOurs).length === 2);
  await first.kill();
  received.length = 0;
  const next = await start({ LOCAL_DATA });
  const service = serviceOf(next.demo, next.directory);
  await service.operate('login-users', 'block', { 'login-user': loginUserId });
  const events = await eventually(arrived, (found) => found.some(isOurs));
  expect(events.filter(isOurs).map(({ DetailType }) => DetailType)).toEqual(['login_user.blocked']);
  rmSync(join(LOCAL_DATA, '..'), { recursive: true });
});
