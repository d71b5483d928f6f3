import { describe, expect, test } from '@jest/globals';
import { expectAnswer, expectError, timestamp as time } from '../support/expectations.ts';
import { deviceIdsOf, newPerson, newPhone } from '../support/people.ts';
import { sharedService } from '../support/service.ts';

const service = sharedService();

const ended = { status: 401, error: 'invalid_token', naming: /session.*ended/ };

/** A person with two sessions, the second one newer. */
async function twoSessions() {
  const phone = await newPerson(service);
  return { phone, tablet: await newPerson(service, phone.subject) };
}
const refresh = ({ refreshToken }: { refreshToken: string }) => service.refresh(refreshToken);

describe('GET /v2/marketing/login/user/sessions', () => {
  test('lists each session that has not ended with its times, and says which one asks', async () => {
    const { phone, tablet } = await twoSessions();
    const times = { created_at: time, last_used_at: time, expires_at: time };
    const answer = await phone.account.sessions();
    expectAnswer(answer, 200, { sessions: expect.anything() });
    const ofPhone = { id: phone.sessionId, current: true, ...times };
    const ofTablet = { id: tablet.sessionId, current: false, ...times };
    expect(new Set(answer.body.sessions)).toEqual(new Set([ofPhone, ofTablet]));
    await phone.account.endSession(tablet.sessionId);
    expect((await phone.account.sessions()).body.sessions).toMatchObject([{ id: phone.sessionId }]);
  });
});

describe('DELETE /v2/marketing/login/user/sessions', () => {
  test('204 ends all, including the one that asks', async () => {
    const { phone, tablet } = await twoSessions();
    expect((await phone.account.endSessions()).status).toBe(204);
    for (const { account } of [phone, tablet]) expectError(await account.show(), ended);
    for (const one of [phone, tablet])
      expect((await refresh(one)).body.error).toBe('invalid_grant');
  });

  test('204 with except=current ends all others', async () => {
    const { phone, tablet } = await twoSessions();
    expect((await phone.account.endSessions('?except=current')).status).toBe(204);
    expectError(await tablet.account.show(), ended);
    expect((await phone.account.show()).status).toBe(200);
  });

  test('400 for another query: no session ends', async () => {
    const { phone } = await twoSessions();
    for (const query of [
      '?except=others',
      '?except=',
      '?except=current&except=current',
      '?only=current',
    ])
      expectError(await phone.account.endSessions(query), {
        status: 400,
        error: 'invalid_request',
      });
    expect((await phone.account.sessions()).body.sessions).toHaveLength(2);
  });
});

describe('DELETE /v2/marketing/login/user/sessions/{session_id}', () => {
  test('204: its tokens are invalid, and its phone gets no messages', async () => {
    const { phone, tablet } = await twoSessions();
    const device = await newPhone(service);
    await service.relate(device, tablet.token);
    expect((await phone.account.endSession(tablet.sessionId)).status).toBe(204);
    expectError(await tablet.account.show(), ended);
    expect(await deviceIdsOf(service, phone)).toEqual([]);
    expectError(await phone.account.endSession(tablet.sessionId), {
      status: 404,
      error: 'not_found',
    });
  });

  test('204 for the session of the request', async () => {
    const { phone, tablet } = await twoSessions();
    expect((await phone.account.endSession(phone.sessionId)).status).toBe(204);
    expectError(await phone.account.show(), ended);
    expect((await tablet.account.show()).status).toBe(200);
  });

  test.each([`s_${'A'.repeat(22)}`, 'x', '%00', 'current'])('404 for %s', async (id) => {
    const { phone } = await twoSessions();
    expectError(await phone.account.endSession(id), { status: 404, error: 'not_found' });
  });
});
