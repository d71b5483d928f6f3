import { describe, expect, test } from '@jest/globals';
import { providerIds } from '../../lib/providers/provider-ids.ts';
import { expectAnswer, expectError, timestamp as time } from '../support/expectations.ts';
import { identityIdsOf, newPerson, subOf } from '../support/people.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();

const identityId = expect.stringMatching(/^i_[\w-]{22}$/);

/** The Login User whom a login leads to. */
const loggedInAs = async (subject: string, provider: string): Promise<string | undefined> =>
  subOf(await service.logIn(subject, provider));

describe('GET /v2/marketing/login/user', () => {
  test('shows the person and the identity of their login', async () => {
    const { account, loginUserId } = await newPerson(service);
    const identity = {
      id: identityId,
      provider: 'provider_f',
      linked_at: time,
      last_login_at: time,
    };
    expectAnswer(await account.show(), 200, {
      id: loginUserId,
      created_at: time,
      last_login_at: time,
      identities: [identity],
    });
  });
});

describe('POST /v2/marketing/login/user/identities', () => {
  const others = providerIds.filter((id) => id !== 'provider_f');
  test.each(others)(
    '201 with the identity of %s; then either logs in as the person',
    async (provider) => {
      const { account, subject, loginUserId } = await newPerson(service);
      const other = unique('bob');
      expectAnswer(await account.linkAt(provider, other), 201, {
        id: identityId,
        provider,
        linked_at: time,
      });
      expect(await loggedInAs(subject, 'provider_f')).toBe(loginUserId);
      expect(await loggedInAs(other, provider)).toBe(loginUserId);
      const { body } = await account.show();
      expect(body.identities).toMatchObject([
        { provider: 'provider_f' },
        { provider, last_login_at: time },
      ]);
      expect(body.last_login_at).toBe(body.identities[1].last_login_at);
      expect(body.last_login_at >= body.identities[0].last_login_at).toBe(true);
    },
  );

  test('201 by an authorization code; a session of the linked identity is one of theirs', async () => {
    const { account, loginUserId } = await newPerson(service);
    const subject = unique('bob');
    const { authorization_code = '' } = await service.credentials('provider_b', { subject });
    expect((await account.link({ provider: 'provider_b', authorization_code })).status).toBe(201);
    const login = await service.logIn(subject, 'provider_b');
    expect(subOf(login)).toBe(loginUserId);
    expect((await service.refresh(login.body.refresh_token)).status).toBe(200);
    expect((await account.sessions()).body.sessions).toHaveLength(2);
  });

  test('200 with the same identity when it is theirs already', async () => {
    const { account, subject } = await newPerson(service);
    const other = unique('bob');
    const linked = (await account.linkAt('provider_a', other)).body;
    expectAnswer(await account.linkAt('provider_a', other), 200, linked);
    const [first] = (await account.show()).body.identities;
    expectAnswer(await account.linkAt('provider_f', subject), 200, first);
  });

  test('409 for one more than 20 linked ones, until one is unlinked', async () => {
    const { account } = await newPerson(service);
    const others = Array.from({ length: 20 }, () => unique('one-of-many'));
    for (const other of others)
      expect((await account.linkAt('provider_a', other)).status).toBe(201);
    const naming = 'The Login User has 20 linked identities, which is the most. Unlink one first.';
    const another = unique('one-too-many');
    expectError(await account.linkAt('provider_a', another), {
      status: 409,
      error: 'conflict',
      naming,
    });
    expect((await account.linkAt('provider_a', others[0] ?? '')).status).toBe(200);
    const [, linked = ''] = identityIdsOf(await account.show());
    expect((await account.unlink(linked)).status).toBe(204);
    expect((await account.linkAt('provider_a', another)).status).toBe(201);
    for (const other of others.slice(1)) await service.logIn(other, 'provider_a');
    expect((await account.remove()).status).toBe(204);
  });

  const code = { authorization_code: 'x' };
  test.each<[string, Record<string, string>, RegExp]>([
    ['no provider', {}, /parameter provider is required/],
    ['an unknown provider', { provider: 'x' }, /provider_a, provider_b/],
    ['no credential', { provider: 'provider_f' }, /id_token is required/],
    ['an empty one', { provider: 'provider_f', id_token: '' }, /id_token is required/],
    [
      'a forbidden parameter',
      { provider: 'provider_a', access_token: 'x', id_token: 'x' },
      /id_token/,
    ],
    ['a code of another provider', { ...code, provider: 'provider_a' }, /provider_b/],
    [
      'a code and a token',
      { ...code, provider: 'provider_b', access_token: 'x' },
      /access_token must not/,
    ],
    [
      'a grant_type',
      { grant_type: 'x', provider: 'provider_f', id_token: 'x' },
      /grant_type must not/,
    ],
  ])('400 %s', async (_, form, naming) => {
    const { account } = await newPerson(service);
    expectError(await account.link(form), { status: 400, error: 'invalid_request', naming });
  });

  test('400 for a made-up credential or code', async () => {
    const { account } = await newPerson(service);
    const error = { status: 400, error: 'invalid_grant', naming: /does not accept/ };
    expectError(await account.link({ provider: 'provider_f', id_token: 'x' }), error);
    expectError(await account.link({ provider: 'provider_b', authorization_code: 'x' }), error);
  });
});

describe('DELETE /v2/marketing/login/user/identities/{identity_id}', () => {
  test('204 for a linked one: it logs in as a new Login User, and can be linked again', async () => {
    const { account, loginUserId } = await newPerson(service);
    const other = unique('bob');
    const { id } = (await account.linkAt('provider_a', other)).body;
    expect((await account.unlink(id)).status).toBe(204);
    expect(identityIdsOf(await account.show())).toHaveLength(1);
    expectError(await account.unlink(id), { status: 404, error: 'not_found' });
    const again = await account.linkAt('provider_a', other);
    expect(again.status).toBe(201);
    expect(again.body.id).not.toBe(id);
    await account.unlink(again.body.id);
    const newcomer = await loggedInAs(other, 'provider_a');
    expect(newcomer).not.toBe(loginUserId);
    expectError(await account.linkAt('provider_a', other), {
      status: 409,
      error: 'conflict',
      further: { merge_possible: true },
    });
    expect(await loggedInAs(other, 'provider_a')).toBe(newcomer);
  });

  test('204 for the first one: the person lives on with the other; it can be linked again, and else is a new Login User', async () => {
    const { account, subject, loginUserId } = await newPerson(service);
    const other = unique('bob');
    await account.linkAt('provider_a', other);
    const [first = ''] = identityIdsOf(await account.show());
    expect((await account.unlink(first)).status).toBe(204);
    expect((await account.show()).body.identities).toMatchObject([{ provider: 'provider_a' }]);
    expect(await loggedInAs(other, 'provider_a')).toBe(loginUserId);
    const linked = await account.linkAt('provider_f', subject);
    expect(linked.status).toBe(201);
    expect(await loggedInAs(subject, 'provider_f')).toBe(loginUserId);
    expect((await account.unlink(linked.body.id)).status).toBe(204);
    const newcomer = await loggedInAs(subject, 'provider_f');
    expect(newcomer).not.toBe(loginUserId);
    expect(await loggedInAs(subject, 'provider_f')).toBe(newcomer);
    expectError(await account.linkAt('provider_f', subject), {
      status: 409,
      error: 'conflict',
      further: { merge_possible: true },
    });
  });

  test('422 for the last one, first or linked', async () => {
    const { account } = await newPerson(service);
    const [first = ''] = identityIdsOf(await account.show());
    const unprocessable = { status: 422, error: 'unprocessable_entity' };
    const last = { ...unprocessable, naming: /last identity/, fields: ['identity_id'] };
    expectError(await account.unlink(first), last);
    const { id } = (await account.linkAt('provider_a', unique('bob'))).body;
    await account.unlink(first);
    expectError(await account.unlink(id), last);
  });

  test.each([`i_${'A'.repeat(22)}`, 'x', 'subject', '%00', 'identity_id'])(
    '404 for %s',
    async (id) => {
      const { account } = await newPerson(service);
      expectError(await account.unlink(id), { status: 404, error: 'not_found' });
    },
  );
});
