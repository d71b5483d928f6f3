import { describe, expect, test } from '@jest/globals';
import { expectError, timestamp as time } from '../support/expectations.ts';
import { merge as mergeAt } from '../support/merges.ts';
import { accountOf, deviceIdsOf, newPerson, newPhone, subOf } from '../support/people.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();

const merge = (caller: { token: string }, keep: string, subject: string) =>
  mergeAt(service, caller, keep, subject);

const loggedInAs = async (subject: string, provider = 'provider_f') =>
  subOf(await service.logIn(subject, provider));

describe('POST /v2/marketing/login/user/merge', () => {
  test('keep=mine: the caller has the identities of both, and the other one is gone', async () => {
    const mine = await newPerson(service);
    const theirs = await newPerson(service);
    const linked = unique('linked');
    await theirs.account.linkAt('provider_a', linked);
    const { status, body } = await merge(mine, 'mine', theirs.subject);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        id: mine.loginUserId,
        merged_from: theirs.loginUserId,
        moved: { identities: 2, devices: 0 },
        lost: { identities: 0, devices: 0 },
        identities: [{ last_login_at: time }, { last_login_at: time }, { provider: 'provider_a' }],
      },
    });
    expect(body).not.toHaveProperty('refresh_token');
    for (const [subject, provider] of [
      [mine.subject, 'provider_f'],
      [theirs.subject, 'provider_f'],
      [linked, 'provider_a'],
    ] as const)
      expect(await loggedInAs(subject, provider)).toBe(mine.loginUserId);
    expect((await mine.account.show()).body.identities).toHaveLength(3);
    expect((await service.refresh(mine.refreshToken)).status).toBe(200);
    expectError(await service.refresh(theirs.refreshToken), {
      status: 400,
      error: 'invalid_grant',
      naming: 'The refresh token is not valid for this client.',
    });
  });

  test('keep=theirs: the other account is kept, and the phone goes on as its person', async () => {
    const mine = await newPerson(service);
    const theirs = await newPerson(service);
    const { status, body } = await merge(mine, 'theirs', theirs.subject);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { id: theirs.loginUserId, merged_from: mine.loginUserId },
    });
    const refreshed = await service.refresh(body.refresh_token);
    expect(subOf(refreshed)).toBe(theirs.loginUserId);
    const again = accountOf(service, refreshed.body.access_token);
    expect((await again.show()).body.identities).toHaveLength(2);
    expect(await loggedInAs(mine.subject)).toBe(theirs.loginUserId);
  });

  test('a token of the one who is gone names the one who is kept, through several merges', async () => {
    const [first, second, third] = await Promise.all([
      newPerson(service),
      newPerson(service),
      newPerson(service),
    ]);
    await merge(second, 'mine', first.subject);
    await merge(third, 'mine', second.subject);
    for (const gone of [first, second]) {
      const further = { merged_into: third.loginUserId };
      const naming = /merged/;
      const shown = await gone.account.show();
      expectError(shown, { status: 401, error: 'invalid_token', naming, further });
      for (const token of [gone.token, gone.refreshToken])
        expect((await service.introspect(token)).body).toEqual({
          active: false,
          merged_into: third.loginUserId,
        });
    }
  });

  test('devices come along, and end with the session that made the merge', async () => {
    const mine = await newPerson(service);
    const theirs = await newPerson(service);
    const phone = await newPhone(service);
    await service.relate(phone, theirs.token);
    expect((await merge(mine, 'mine', theirs.subject)).body.moved.devices).toBe(1);
    expect(await deviceIdsOf(service, mine)).toEqual([phone]);
    const other = await newPerson(service, mine.subject);
    await mine.account.endSession(mine.sessionId);
    expect(await deviceIdsOf(service, other)).toEqual([]);
  });

  test('200 with the account when the identity is theirs already; nothing is merged', async () => {
    const mine = await newPerson(service);
    const theirs = await newPerson(service);
    await merge(mine, 'mine', theirs.subject);
    const again = await merge(mine, 'mine', theirs.subject);
    expect(again.status).toBe(200);
    expect(again.body).toMatchObject({ id: mine.loginUserId });
    expect(again.body).not.toHaveProperty('merged_from');
    expect(again.body.identities).toHaveLength(2);
  });

  test('409 for an identity of nobody', async () => {
    const mine = await newPerson(service);
    expectError(await merge(mine, 'mine', unique('nobody')), {
      status: 409,
      error: 'conflict',
      naming: /link it instead/,
    });
  });

  test.each(['mine', 'theirs'])('403 if the other one is blocked, keep=%s', async (keep) => {
    const mine = await newPerson(service);
    const theirs = await newPerson(service);
    await service.operate('login-users', 'block', { 'login-user': theirs.loginUserId });
    expectError(await merge(mine, keep, theirs.subject), {
      status: 403,
      error: 'forbidden',
      naming: 'The Login User is blocked.',
    });
    expect((await mine.account.show()).body.identities).toHaveLength(1);
  });

  test.each([
    [{}, 'The parameter keep is required.'],
    [{ keep: 'both' }, 'The parameter keep must be mine or theirs.'],
    [{ keep: 'mine' }, /provider is required/],
  ])('400 %o', async (form, naming) => {
    const { token } = await newPerson(service);
    const headers = { authorization: `Bearer ${token}` };
    const answer = await service.form('/v2/marketing/login/user/merge', form, headers);
    expectError(answer, { status: 400, error: 'invalid_request', naming });
  });

  test('linking an identity of somebody says that a merge is possible', async () => {
    const mine = await newPerson(service);
    const theirs = await newPerson(service);
    const answer = await mine.account.linkAt('provider_f', theirs.subject);
    expectError(answer, {
      status: 409,
      error: 'conflict',
      naming: /another Login User/,
      further: { merge_possible: true },
    });
  });
});
