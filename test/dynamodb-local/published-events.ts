import assert from 'node:assert/strict';
import { publishedEvents } from '../../lib/publishing/published-events.ts';
import { accountOf } from '../support/account.ts';
import { problemsOf } from '../support/bus-stand-in.ts';
import { eventually, newPerson, newPhone } from '../support/people.ts';
import { serviceOf, unique } from '../support/service.ts';
import { startService } from '../support/start-service.ts';

type Detail = Record<string, unknown>;

/**
 * Starts a service on DynamoDB Local, uses it, and reads what it publishes from the table's real stream: one event of each type,
 * by its schema, and in the order in which they happened.
 */
export async function checkPublishedEvents(dynamoDbEndpoint: string): Promise<void> {
  const running = await startService({ DYNAMODB_ENDPOINT: dynamoDbEndpoint });
  try {
    const service = serviceOf(running.demo, running.directory);
    const person = await newPerson(service);
    const { body: refreshed } = await service.token({
      grant_type: 'refresh_token',
      refresh_token: person.refreshToken,
    });
    assert.equal(typeof refreshed.access_token, 'string');
    const phone = await newPhone(service, await service.loginAppToken());
    await service.relate(phone, person.token);
    await service.operate('devices', 'disable', { device: phone });
    const { id } = (await service.createAccessRequest()).body;
    const review = { actor_type: 'custom', actor_id: 'desk', comment: 'Fine.', status: 'approved' };
    await service.addEvent('reviews', review, { id });
    await accountOf(service, person.token).linkAt('provider_a', unique('linked'));
    for (const verb of ['logout', 'block', 'delete']) {
      await service.operate('login-users', verb, { 'login-user': person.loginUserId });
    }

    const isOurs = (detail: Detail) =>
      [detail.login_user_id, detail.device_id].some((one) => one === person.loginUserId || one === phone) ||
      detail.access_request_id === id;
    const published = async () =>
      [...running.output().matchAll(/^event (\S+) (\{.*\})$/gm)]
        .map(([, DetailType = '', detail = '']) => ({ DetailType, Detail: JSON.parse(detail) }))
        .filter(({ Detail }) => isOurs(Detail));
    const due = Object.keys(publishedEvents).toSorted();
    // The deletion of the Login User was the last change.
    const events = await eventually(
      published,
      (found) =>
        found.some(({ DetailType }) => DetailType === 'login_user.deleted') && found.length >= due.length,
    );
    assert.deepEqual(events.map(({ DetailType }) => DetailType).toSorted(), due);
    assert.deepEqual(events.flatMap(problemsOf), []);
    const sequencesOf = (name: string) =>
      events.filter(({ Detail }) => Detail[name] !== undefined).map(({ Detail }) => String(Detail.sequence));
    assert.deepEqual(sequencesOf('device_id'), sequencesOf('device_id').toSorted());
  } finally {
    await running.stop();
  }
}
