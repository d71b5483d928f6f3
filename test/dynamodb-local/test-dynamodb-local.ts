import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { decodeJwt } from 'jose';
import type { Envelope } from '../../infra/local/aws.ts';
import { startDynamoDbLocal } from '../../infra/local/dynamodb-local/start-dynamodb-local.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import { publishedEvents } from '../../lib/publishing/published-events.ts';
import { problemsOf } from '../support/bus-stand-in.ts';
import { runJest } from '../support/commands.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { eventually, newPerson, newPhone } from '../support/people.ts';
import { serviceOf, unique } from '../support/service.ts';
import { startService } from '../support/start-service.ts';
import { print, runCheck, step } from '../support/steps.ts';

/**
 * The tests whose subject is what a store does: conditions, indexes, pages, streams, errors. Those
 * of the costs of long lists fill a table with thousands of items first, which takes DynamoDB Local
 * minutes.
 */
const aboutTheStore =
  /^test\/(access-requests\/(?!access-request-costs)|devices\/|publishing\/|storage\/transactions|http\/store-(answers|calls)|people\/(crashes|identities|people-import|races)|sessions\/many-sessions)/;

/** What a test uses that has a store: a service, or the domain with a table of its own. */
const withStore = /\b(sharedService|ownService|startService)|\bstartOwnTable\b/;

/** Every test that shows whether another store does the same. */
const testsWithStore = (): string[] =>
  globSync('test/**/*.test.ts').filter(
    (file) => aboutTheStore.test(file) && withStore.test(readFileSync(file, 'utf8')),
  );

/** Runs the tests that lean on the store against Amazon's DynamoDB Local. */
runCheck(async (cleanUps) => {
  await requireTools([tools.jdk, tools.maven]);
  await step('Publish what happens from the real stream of a table', checkPublishedEvents);
  const { url, close } = await step('Start DynamoDB Local', () => startDynamoDbLocal(print));
  cleanUps.defer(close);
  print(`    ${url}`);
  await step(
    'Run the tests that lean on a store against it, those that watch or disturb it too',
    () => runJest(testsWithStore(), { DYNAMODB_ENDPOINT: url }),
  );
});

type Detail = Record<string, unknown>;

/**
 * Checks that a consumer gets each type of event from DynamoDB Local's stream: by its schema, in
 * order, as in the terminal.
 */
async function checkPublishedEvents(): Promise<void> {
  const received: Envelope[] = [];
  const consumer = await serve(async (request, response) => {
    received.push(JSON.parse((await readBody(request)).toString()));
    response.end();
  });
  const running = await startService({ EVENTS_TO: consumer.url, DYNAMODB_ENDPOINT: '' });
  try {
    const service = serviceOf(running.demo, running.directory);
    const person = await newPerson(service);
    const { body: refreshed } = await service.refresh(person.refreshToken);
    assert.equal(typeof refreshed.access_token, 'string');
    const phone = await newPhone(service);
    await service.relate(phone, (await newPerson(service)).token);
    await service.relate(phone, person.token);
    await service.operate('devices', 'disable', { device: phone });
    const { id } = (await service.createAccessRequest({ body: { approvals_needed: 1 } })).body;
    const review = { actor_type: 'custom', actor_id: 'desk', comment: 'Fine.', status: 'approved' };
    await service.addEvent('reviews', review, { id });
    const { account } = person;
    const linked = await account.linkAt('provider_a', unique('linked'));
    await account.unlink(linked.body.id);
    const another = await service.logIn(person.subject);
    await account.endSession(String(decodeJwt(another.body.access_token).sid));
    const { base_url, sandbox_url, login_app } = service.demo;
    const to = `${base_url}/v2/marketing/providers/provider_f/notifications?login_app_id=${login_app.login_app_id}`;
    const hijacked = {
      to,
      event: 'account-disabled',
      reason: 'hijacking',
      subject: person.subject,
    };
    await fetch(`${sandbox_url}/provider_f/notifications?${new URLSearchParams(hijacked)}`, {
      method: 'POST',
    });
    for (const verb of ['logout', 'block', 'delete']) {
      await service.operate('login-users', verb, { 'login-user': person.loginUserId });
    }

    const isOurs = (detail: Detail) =>
      [detail.login_user_id, detail.device_id].some(
        (one) => one === person.loginUserId || one === phone,
      ) || detail.access_request_id === id;
    const published = async () =>
      received
        .map(({ 'detail-type': DetailType, detail: Detail }) => ({ DetailType, Detail }))
        .filter(({ Detail }) => isOurs(Detail));
    const typesOf = (found: Awaited<ReturnType<typeof published>>) =>
      [...new Set(found.map(({ DetailType }) => DetailType))].toSorted();
    const due = Object.keys(publishedEvents).toSorted();
    const events = await eventually(published, (found) => typesOf(found).length >= due.length);
    assert.deepEqual(typesOf(events), due);
    assert.deepEqual(events.flatMap(problemsOf), []);
    const sequencesOf = (name: string) =>
      events
        .filter(({ Detail }) => Detail[name] !== undefined)
        .map(({ Detail }) => String(Detail.sequence));
    assert.deepEqual(sequencesOf('device_id'), sequencesOf('device_id').toSorted());
    const printed = [...running.output().matchAll(/^event (\{.*\})$/gm)].map(([, event = '']) =>
      JSON.parse(event),
    );
    assert.deepEqual(printed.slice(0, received.length), received);
  } finally {
    await running.stop();
    await consumer.close();
  }
}
