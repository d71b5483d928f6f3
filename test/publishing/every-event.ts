import assert from 'node:assert/strict';
import { decodeJwt } from 'jose';
import { publishedEvents } from '../../lib/publishing/published-events.ts';
import { type Arrived, problemsOf } from '../support/bus-stand-in.ts';
import { newGuest } from '../support/guests.ts';
import { merge } from '../support/merges.ts';
import { eventually, newPerson, newPhone } from '../support/people.ts';
import { type Service, unique } from '../support/service.ts';

type Published = Pick<Arrived, 'DetailType' | 'Detail'>;

/**
 * Does at a service whatever is published, and checks that each type of event arrives: by its
 * schema, and those of one device in order.
 * @param arrived all events that have arrived so far
 */
export async function checkEveryEvent(service: Service, arrived: () => Published[]) {
  const person = await newPerson(service);
  const guest = await newGuest(service);
  await guest.account.linkAt('provider_a', unique('promoted'));
  const gone = await newPerson(service);
  const merged = await merge(service, await newPerson(service), 'mine', gone.subject);
  assert.equal(merged.status, 200, merged.text);
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
  const { authorization_code = '' } = await service.credentials('provider_b', {
    subject: unique('kept'),
  });
  const kept = await account.link({ provider: 'provider_b', authorization_code });
  await account.unlink(kept.body.id);
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
  for (const type of ['email-disabled', 'email-enabled']) {
    const events = JSON.stringify({ type, sub: person.subject });
    const claims = JSON.stringify({ jti: unique('jti'), events });
    const query = { subject: person.subject, claims };
    const { id_token: payload } = await service.credentials('provider_f', query);
    const { pathname, search } = new URL(to);
    const { status } = await service.json(`${pathname}${search}`, { payload });
    assert.equal(status, 204);
  }
  for (const verb of ['logout', 'block', 'delete']) {
    await service.operate('login-users', verb, { 'login-user': person.loginUserId });
  }

  const isOurs = ({ Detail }: Published): boolean =>
    [Detail.login_user_id, Detail.device_id].some((one) =>
      [person.loginUserId, guest.loginUserId, gone.loginUserId, phone].includes(String(one)),
    ) || Detail.access_request_id === id;
  const typesOf = (events: Published[]) =>
    [...new Set(events.map(({ DetailType }) => DetailType))].toSorted();
  const due = Object.keys(publishedEvents).toSorted();
  const events = await eventually(
    () => arrived().filter(isOurs),
    (found) => typesOf(found).length >= due.length,
  );
  assert.deepEqual(typesOf(events), due);
  assert.deepEqual(events.flatMap(problemsOf), []);
  const sequences = events
    .filter(({ Detail }) => Detail.device_id !== undefined)
    .map(({ Detail }) => String(Detail.sequence));
  assert.deepEqual(sequences, sequences.toSorted());
}
