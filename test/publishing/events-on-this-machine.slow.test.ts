import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BatchWriteItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import type { Envelope } from '../../infra/local/aws.ts';
import { localDynamoDb } from '../../infra/local/dynamodb.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import { eventually, newPerson, newPhone } from '../support/people.ts';
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

test('without EVENTS_TO, the terminal shows a line for each event, and none of the demo', async () => {
  const running = await startService({ DYNAMODB_ENDPOINT: '' });
  ends.push(running.stop);
  const service = serviceOf(running.demo, running.directory);
  const { loginUserId } = await newPerson(service);
  const phone = await newPhone(service);
  const { id } = (await service.createAccessRequest()).body;
  expect(await running.interrupt()).toBe(0);
  const lines = running.output().match(/^event .*$/gm);
  expect(lines).toEqual([
    `event login_user.created login_user_id ${loginUserId}`,
    `event login_user.logged_in login_user_id ${loginUserId}`,
    `event device.registered device_id ${phone}`,
    `event access_request.created access_request_id ${id}`,
  ]);
});

test('Ctrl-C publishes first what still waits', async () => {
  const running = await start();
  const service = serviceOf(running.demo, running.directory);
  received.length = 0;
  const phones = await Promise.all(Array.from({ length: 20 }, () => newPhone(service)));
  expect(await running.interrupt()).toBe(0);
  const printed = printedBy(running.output()).map(({ detail }) => detail.device_id);
  expect(printed).toEqual(expect.arrayContaining(phones));
});

test('writes of a batch are published, each by itself', async () => {
  const running = await start();
  const service = serviceOf(running.demo, running.directory);
  const phones = [await newPhone(service), await newPhone(service)];
  const { dynamodb_endpoint, table_name } = running.demo;
  const store = localDynamoDb(dynamodb_endpoint);
  const { Items = [] } = await store.send(new ScanCommand({ TableName: table_name }));
  const devices = Items.filter(({ pk }) => phones.some((id) => pk?.S === `DEVICE#${id}`));
  const disabled_at = { S: '2026-01-31T08:00:00.000Z' };
  const puts = devices.map((device) => ({ PutRequest: { Item: { ...device, disabled_at } } }));
  await store.send(new BatchWriteItemCommand({ RequestItems: { [table_name]: puts } }));
  store.destroy();
  const disabled = (events: Awaited<ReturnType<typeof arrived>>) =>
    events
      .filter(({ DetailType }) => DetailType === 'device.disabled')
      .map(({ Detail }) => Detail.device_id)
      .filter((id) => phones.includes(String(id)));
  const events = await eventually(arrived, (found) => disabled(found).length === 2);
  expect(disabled(events).toSorted()).toEqual(phones.toSorted());
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
