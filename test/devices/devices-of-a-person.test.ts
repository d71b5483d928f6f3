import { describe, expect, test } from '@jest/globals';
import { expectAnswer, timestamp } from '../support/expectations.ts';
import { createLoginApp } from '../support/login-app.ts';
import {
  deviceIdsOf,
  eventually,
  eventuallyHas,
  newPerson,
  newPhone,
  type Person,
} from '../support/people.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const appToken = await service.loginAppToken();

/** The ids of a person's devices, when there are so many of them. */
const idsWhen = (person: Person, count: number) =>
  eventuallyHas(count, () => deviceIdsOf(service, person));
const sendableTo = async ({ loginUserId }: Person): Promise<string[]> => {
  const { devices } = await service.operate('devices', 'list', { 'login-user': loginUserId });
  return (devices as { device_id: string }[]).map(({ device_id }) => device_id);
};

/** Two sessions of a person, each with a device that it related. */
async function twoSessions() {
  const subject = unique('person');
  const [phone, tablet] = [await newPerson(service, subject), await newPerson(service, subject)];
  const [phoneId, tabletId] = [
    await newPhone(service, appToken),
    await newPhone(service, appToken),
  ];
  await service.relate(phoneId, phone.token);
  await service.relate(tabletId, tablet.token);
  await idsWhen(tablet, 2);
  return { subject, phone, phoneId, tablet, tabletId };
}

describe('GET /v2/marketing/login/user/push_notifications/devices', () => {
  test('200 with an empty list for a person without devices', async () => {
    expectAnswer(await service.listDevices((await newPerson(service)).token), 200, { devices: [] });
  });

  test('200 with the devices, the one seen last first, and no push tokens', async () => {
    const person = await newPerson(service);
    const first = await newPhone(service, appToken);
    const second = await newPhone(service, appToken);
    for (const id of [second, first])
      expect((await service.relate(id, person.token)).status).toBe(200);
    expect(await idsWhen(person, 2)).toEqual([second, first]);
    const times = { created_at: timestamp, last_seen_at: timestamp, related_at: timestamp };
    const shown = { platform: 'android', token_type: 'fcm', active: true, ...times };
    const listed = [second, first].map((id) => ({ id, ...shown }));
    expectAnswer(await service.listDevices(person.token), 200, { devices: listed });
  });
});

describe('DELETE /v2/marketing/login/user/push_notifications/devices/{device_id}', () => {
  test('204, and the relation has ended', async () => {
    const person = await newPerson(service);
    const id = await newPhone(service, appToken);
    await service.relate(id, person.token);
    const { status, text } = await service.endRelation(id, person.token);
    expect({ status, text }).toEqual({ status: 204, text: '' });
    expect(await deviceIdsOf(service, person)).toEqual([]);
    expect((await service.endRelation(id, person.token)).status).toBe(404);
  });
});

describe('at most 20 devices a person', () => {
  test('relating more ends the relations of those not seen longest, four at once too', async () => {
    const person = await newPerson(service);
    const first = unique('phone');
    const register = async (token = unique('phone')): Promise<string> =>
      (await service.register({ platform: 'android', token }, appToken)).body.id;
    const ids = [await register(first)];
    while (ids.length < 24) ids.push(await register());
    for (const id of ids.slice(0, 20)) await service.relate(id, person.token);
    await idsWhen(person, 20);
    // The first is seen again, so that the four after it are those not seen longest.
    await register(first);
    await Promise.all(ids.slice(20).map((id) => service.relate(id, person.token)));
    const expected = ids.toSpliced(1, 4).toSorted();
    const listed = await eventually(
      () => deviceIdsOf(service, person),
      (found) => found.toSorted().join() === expected.join(),
    );
    expect(listed.toSorted()).toEqual(expected);
    expect((await sendableTo(person)).toSorted()).toEqual(expected);
    expect((await service.endRelation(String(ids[1]), person.token)).status).toBe(404);
  });
});

describe('a device that moves between people', () => {
  test('eight ways at once: exactly one owner in the end, and nobody else sees it', async () => {
    const people = await Promise.all(Array.from({ length: 8 }, () => newPerson(service)));
    const id = await newPhone(service, appToken);
    const answers = await Promise.all(people.map(({ token }) => service.relate(id, token)));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const lists = await eventually(
      () => Promise.all(people.map((person) => deviceIdsOf(service, person))),
      (all) => all.some(({ length }) => length > 0),
    );
    expect(lists.filter((ids) => ids.includes(id))).toHaveLength(1);
    const owner = people[lists.findIndex((ids) => ids.includes(id))];
    const ended = await Promise.all(
      people
        .filter((person) => person !== owner)
        .map(({ token }) => service.endRelation(id, token)),
    );
    expect(ended.map(({ status }) => status)).toEqual(Array(7).fill(404));
    expect((await service.endRelation(id, owner?.token ?? '')).status).toBe(204);
  });
});

describe('logout', () => {
  const { revoke } = service;

  test('of the session that related a device last ends the relation, of another session it does not', async () => {
    const { phone, phoneId, tablet, tabletId } = await twoSessions();
    const movedOn = await newPhone(service, appToken);
    for (const { token } of [phone, tablet]) await service.relate(movedOn, token);
    await idsWhen(tablet, 3);
    expect((await revoke(phone.token)).status).toBe(200);
    const left = [tabletId, movedOn].toSorted();
    expect((await deviceIdsOf(service, tablet)).toSorted()).toEqual(left);
    expect((await sendableTo(tablet)).toSorted()).toEqual(left);
    expect((await service.listDevices(phone.token)).status).toBe(401);
    expect((await service.endRelation(phoneId, tablet.token)).status).toBe(404);
  });

  test('leaves a device alone that has moved to the next person', async () => {
    const [first, second] = [await newPerson(service), await newPerson(service)];
    const id = await newPhone(service, appToken);
    for (const { token } of [first, second]) await service.relate(id, token);
    expect((await revoke(first.token)).status).toBe(200);
    expect(await idsWhen(second, 1)).toEqual([id]);
  });
});

describe('whatever else ends a session ends the relations that it made', () => {
  test.each(['logout', 'delete'])(
    'login-users %s: those of all sessions, for good',
    async (verb) => {
      const { subject, phone } = await twoSessions();
      await service.operate('login-users', verb, { 'login-user': phone.loginUserId });
      expect(await sendableTo(phone)).toEqual([]);
      const again = await newPerson(service, subject);
      expect(again.loginUserId === phone.loginUserId).toBe(verb === 'logout');
      expect(await deviceIdsOf(service, again)).toEqual([]);
    },
  );

  test('the reuse of a refresh token: those of its session alone', async () => {
    const { phone, tablet, tabletId } = await twoSessions();
    const { refresh } = service;
    const { body } = await refresh(phone.refreshToken);
    await refresh(body.refresh_token);
    expect((await refresh(phone.refreshToken)).body.error).toBe('invalid_grant');
    expect(await deviceIdsOf(service, tablet)).toEqual([tabletId]);
    expect(await sendableTo(tablet)).toEqual([tabletId]);
  });
});

describe('devices list and devices disable', () => {
  test('a whole Login App is listed page after page, each device once', async () => {
    const client = await createLoginApp(service, unique('app'), { platforms: ['android'] });
    const token = await service.loginAppToken(client);
    const ids = await Promise.all(Array.from({ length: 130 }, () => newPhone(service, token)));
    await service.operate('devices', 'disable', { device: ids[0] });
    const readAll = async () => {
      const listed: { device_id: string }[] = [];
      for (let after: unknown; ; ) {
        const page = await service.operate('devices', 'list', {
          'login-app': client.login_app_id,
          ...(after === undefined ? {} : { after }),
        });
        listed.push(...(page.devices as { device_id: string }[]));
        after = page.next;
        if (after === undefined) return listed;
      }
    };
    const listed = await eventuallyHas(129, readAll);
    expect(listed.map(({ device_id }) => device_id).toSorted()).toEqual(ids.slice(1).toSorted());
    expect(JSON.stringify(listed)).not.toContain('"token"');
  });

  test.each([
    [{}, 'Give either --login-user or --login-app.'],
    [
      { 'login-user': `lu_${'A'.repeat(43)}`, 'login-app': `la_${'A'.repeat(22)}` },
      'Give either --login-user or --login-app.',
    ],
    [{ 'login-app': `la_${'A'.repeat(22)}` }, 'There is no such Login App.'],
  ])('devices list %j is an error: %s', async (flags, why) => {
    await expect(service.operate('devices', 'list', flags)).rejects.toThrow(why);
  });

  test('devices disable of an unknown device is an error', async () => {
    const disabled = service.operate('devices', 'disable', { device: `d_${'A'.repeat(43)}` });
    await expect(disabled).rejects.toThrow('There is no such device.');
  });
});
