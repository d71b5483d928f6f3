import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, expect, test } from '@jest/globals';
import { Template } from 'aws-cdk-lib/assertions';
import { execa } from 'execa';
import { forwardEvents } from '../../infra/local/forward-events.ts';
import { localDirectory } from '../../infra/local/local-files.ts';
import { serve } from '../../infra/local/loopback-server.ts';
import { problemsOf } from '../support/bus-stand-in.ts';
import { codeBlock } from '../support/code-blocks.ts';

const blockOf = (language: string): string => codeBlock('events.md', language);

// Within the checkout, where the packages are found.
const folder = mkdtempSync(join(localDirectory('snippets'), 'events-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'react-to-approvals.ts');
writeFileSync(file, blockOf('ts'));

test('the rules of the page about events compile in a strict project, as a new one of the CDK is', async () => {
  const config = {
    extends: join(process.cwd(), 'tsconfig.json'),
    // The CDK's own interfaces don't hold under it.
    compilerOptions: { exactOptionalPropertyTypes: false },
    include: [file],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  await execa('node_modules/.bin/tsc', ['--noEmit', '-p', folder]);
});

const deployment = `
  import { App, Stack } from 'aws-cdk-lib';
  import { reactToApprovals } from './react-to-approvals.ts';
  const app = new App({ stackTraces: false });
  const stack = new Stack(app, 'reactions');
  reactToApprovals(stack, { url: 'https://hooks.example.com/approvals', apiKeySecret: 'approvals-webhook' });
  console.log(JSON.stringify(app.synth().getStackByName('reactions').template));
`;

test('they send approvals, and nothing else, to a queue, a webhook and a log', async () => {
  // In a process of its own: in jest's, the CDK takes five times as long to load.
  const { stdout } = await execa(process.execPath, ['--input-type=module', '--eval', deployment], {
    cwd: folder,
  });
  const template = Template.fromString(stdout);
  const rules = Object.values(template.findResources('AWS::Events::Rule'));
  expect(rules).toHaveLength(3);
  template.allResourcesProperties('AWS::Events::Rule', {
    EventBusName: 'login-service',
    EventPattern: {
      source: ['login-service'],
      'detail-type': ['event.added'],
      detail: { type: ['review'], status: ['approved'] },
    },
  });
  template.hasResourceProperties('AWS::Events::ApiDestination', {
    InvocationEndpoint: 'https://hooks.example.com/approvals',
  });
  const targets = rules.map(({ Properties }) => JSON.stringify(Properties.Targets[0].Arn));
  expect(targets.toSorted()).toEqual([
    expect.stringContaining('Approvals8537C562'),
    expect.stringContaining('WebhookApiDestination'),
    expect.stringContaining('ApprovalsLog'),
  ]);
});

test('the event that the page shows is one that the schemas allow', () => {
  const { source, 'detail-type': DetailType, detail } = JSON.parse(blockOf('json'));
  expect(source).toBe('login-service');
  expect(problemsOf({ DetailType, Detail: detail })).toEqual([]);
});

async function startConsumer(env: Record<string, string> = {}) {
  const consumerFile = join(folder, 'consumer.mjs');
  writeFileSync(consumerFile, blockOf('js'));
  const consumer = execa(process.execPath, [consumerFile], {
    env: { PORT: '0', ...env },
    reject: false,
  });
  const lines = createInterface(consumer.stdout)[Symbol.asyncIterator]();
  const nextLine = async () => String((await lines.next()).value);
  const url = `http://127.0.0.1:${(await nextLine()).match(/port (\d+)/)?.[1]}`;
  return { consumer, nextLine, url };
}

test('the consumer with an API key takes events from the webhook alone', async () => {
  const { consumer, nextLine, url } = await startConsumer({ API_KEY: 'the-key' });
  const post = async (headers: Record<string, string>) =>
    (await fetch(url, { method: 'POST', headers, body: blockOf('json') })).status;
  expect(await post({})).toBe(401);
  expect(await post({ 'x-api-key': 'another' })).toBe(401);
  expect(await post({ 'x-api-key': 'the-key' })).toBe(204);
  expect(await nextLine()).toBe('Access request 42 was approved.');
  consumer.kill();
  await consumer;
});

test('the consumer of the page handles an event once, says which it cannot read, and goes on', async () => {
  const { consumer, nextLine, url } = await startConsumer();
  expect((await fetch(url, { method: 'POST', body: 'no JSON' })).status).toBe(500);
  const notTaken: string[] = [];
  const { forward, close } = forwardEvents(url, (line) => notTaken.push(line));
  const event = JSON.parse(blockOf('json'));
  for (const access_request_id of [42, 42, 43]) {
    const id = `pe_${access_request_id}`;
    forward({ ...event, detail: { ...event.detail, id, access_request_id } });
  }
  expect(await nextLine()).toBe('Access request 42 was approved.');
  expect(await nextLine()).toBe('Access request 43 was approved.');
  expect(notTaken).toEqual([]);
  consumer.kill();
  expect((await consumer).stderr).toMatch(/not valid JSON/);
  close();
});

test('an event that a slow consumer does not answer in time is sent again', async () => {
  const taken = Promise.withResolvers<void>();
  let requests = 0;
  const slow = await serve((_, response) => {
    requests += 1;
    if (requests > 1) taken.resolve(void response.end());
  });
  const lines: string[] = [];
  const { forward, close } = forwardEvents(slow.url, (line) => lines.push(line), 100);
  forward(JSON.parse(blockOf('json')));
  await taken.promise;
  expect(lines).toEqual([
    expect.stringMatching(
      / did not take the event 0f15989d\S+ \(TimeoutError.*\)\. It is sent again until it does\.$/,
    ),
  ]);
  close();
  await slow.close();
});
