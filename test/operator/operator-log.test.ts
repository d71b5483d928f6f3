import { describe, expect, test } from '@jest/globals';
import { commands } from '../../lib/operator/commands/index.ts';
import { newClientKey } from '../support/client-assertions.ts';
import { auditDuring } from '../support/log-lines.ts';
import { createLoginApp } from '../support/login-app.ts';
import { operatorWithFiles } from '../support/operator.ts';
import { newPerson } from '../support/people.ts';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { isWrite } from '../support/store-proxy.ts';

const { running, service, proxy } = await startServiceWithStore({ LOG_LEVEL: 'ERROR' });
const { demo, operate } = service;
const request_id = expect.stringMatching(/^[\w-]{36}$/);
const operator = expect.stringMatching(/^arn:aws:iam::000000000000:user\//);
const linesOf = (action: () => Promise<unknown>) => auditDuring(running, action);

describe('every operator command: one line, with the operator and the request that AWS has', () => {
  test.each([...commands.values()])('$words', async ({ words: command }) => {
    const [noun = '', ...verb] = command.split(' ');
    const lines = await linesOf(() => operate(noun, verb.join(' '), {}).catch(() => undefined));
    const result = expect.stringMatching(/^(done|rejected)$/);
    expect(lines).toMatchObject([{ command, caller: 'operator', operator, request_id, result }]);
  });

  test('a command that does not exist, without its name', async () => {
    const lines = await linesOf(() => operate('accounts', 'a-secret', {}).catch(() => undefined));
    expect(lines).toMatchObject([{ command: 'unknown', result: 'rejected', operator }]);
    expect(JSON.stringify(lines)).not.toContain('a-secret');
  });

  test('one that fails because the store does', async () => {
    const { login_app_id } = await createLoginApp(service, unique('app'));
    proxy.hook = (call) => (isWrite(call) ? 'fails before' : undefined);
    const disable = () => operate('login-apps', 'disable', { 'login-app': login_app_id });
    const lines = await linesOf(() => expect(disable()).rejects.toThrow('The command failed.'));
    const command = 'login-apps disable';
    expect(lines).toEqual([
      { request_id, command, caller: 'operator', operator, login_app_id, result: 'failed' },
    ]);
  });
});

describe('the line of a command: what it was about and the choice, but no name, text or secret', () => {
  /**
   * Carries a command out; its result.
   * @param aboutOf what the line says of it
   */
  async function expectDone(
    command: string,
    flags: Record<string, unknown>,
    aboutOf: (result: Record<string, unknown>) => object,
  ): Promise<Record<string, unknown>> {
    const [noun = '', ...verb] = command.split(' ');
    let done: Record<string, unknown> = {};
    const lines = await linesOf(async () => {
      done = await operate(noun, verb.join(' '), flags);
    });
    const ofEach = { request_id, command, caller: 'operator', operator, result: 'done' };
    expect(lines).toEqual([{ ...ofEach, ...aboutOf(done) }]);
    return done;
  }
  const newApp = async () =>
    String((await operate('login-apps', 'create', { name: 'An app' })).login_app_id);

  test('the ids that it made', async () => {
    const created = ({ login_app_id }: Record<string, unknown>) => ({ login_app_id });
    const { login_app_id } = await expectDone('login-apps create', { name: 'An app' }, created);
    const flags = { 'login-app': login_app_id };
    await expectDone('clients create', flags, ({ client_id }) => ({ login_app_id, client_id }));
    const token = { ...flags, name: 'iOS' };
    await expectDone('login-apps tokens create', token, ({ token_id }) => ({
      login_app_id,
      token_id,
    }));
    await expectDone('accounts create', { name: 'Back office' }, ({ account_id }) => ({
      account_id,
    }));
  });

  test('an access request and who has access, and of a comment who wrote as what', async () => {
    const { account_id } = demo.account;
    const { access_request_id } = await expectDone(
      'access-requests create',
      { account: account_id },
      (made) => ({
        account_id,
        access_request_id: made.access_request_id,
      }),
    );
    const flags = { 'access-request': access_request_id };
    const { account_id: other } = demo.other_account;
    const about = { access_request_id, account_id: other };
    await expectDone('access-requests grant', { ...flags, account: other }, () => about);
    const comment = {
      ...flags,
      'actor-type': 'custom',
      'actor-id': unique('desk'),
      comment: 'No.',
    };
    const written = { access_request_id, event_id: 1, actor_type: 'custom' };
    await expectDone('comments add', comment, () => written);
  });

  test('the token, the client, the account, the secret and the key that are revoked', async () => {
    const login_app_id = await newApp();
    const flags = { 'login-app': login_app_id };
    const { token_id } = await operate('login-apps', 'tokens create', { ...flags, name: 'iOS' });
    const token = { ...flags, token: token_id };
    await expectDone('login-apps tokens revoke', token, () => ({ login_app_id, token_id }));

    const { client_id } = await operate('clients', 'create', flags);
    const client = { ...flags, client: client_id };
    const secret_id = oldSecretOf(await operate('clients', 'rotate', client));
    const ofClient = { login_app_id, client_id, secret_id };
    await expectDone('clients revoke', { ...client, secret: secret_id }, () => ofClient);

    const [one, two] = await Promise.all([newClientKey(), newClientKey()]);
    const keyed = { ...flags, 'jwks-file': { keys: [one.jwk] } };
    const { client_id: withKey } = await expectDone('clients create', keyed, (made) => ({
      login_app_id,
      client_id: made.client_id,
      key_thumbprints: [one.thumbprint],
    }));
    const ofKey = { ...flags, client: withKey };
    const about = { login_app_id, client_id: withKey };
    const rotated = { ...about, key_thumbprints: [two.thumbprint] };
    await expectDone(
      'clients rotate',
      { ...ofKey, 'jwks-file': { keys: [two.jwk] } },
      () => rotated,
    );
    const revoked = { ...about, key_id: one.thumbprint };
    await expectDone('clients revoke', { ...ofKey, key: one.thumbprint }, () => revoked);

    const { account_id } = await operate('accounts', 'create', { name: 'Back office' });
    const secret = oldSecretOf(await operate('accounts', 'rotate', { account: account_id }));
    const ofAccount = { account_id, secret_id: secret };
    await expectDone('accounts revoke', { account: account_id, secret }, () => ofAccount);
  });

  test('a provider and a client, without the settings, also when they are rejected', async () => {
    const { login_app_id, client_id } = await createLoginApp(service, unique('app'));
    const app = { 'login-app': login_app_id };
    const flags = { ...app, provider: 'provider_f' };
    const about = { login_app_id, provider: 'provider_f' };
    const issuer = { issuer: 'https://provider.example', audiences: ['our-app'] };
    await expectDone('providers set', { ...flags, settings: { issuers: [issuer] } }, () => about);
    const settings = { issuers: [{ ...issuer, audiences: 'our-app' }] };
    const rejected = await linesOf(() =>
      expect(operate('providers', 'set', { ...flags, settings })).rejects.toThrow(
        'must be a list of app ids.',
      ),
    );
    expect(rejected).toMatchObject([{ command: 'providers set', result: 'rejected', ...about }]);
    expect(JSON.stringify(rejected)).not.toContain('provider.example');
    await expectDone('providers remove', flags, () => about);
    const grant_types = 'client_credentials';
    const client = { ...app, client: client_id, 'grant-types': grant_types };
    await expectDone('clients update', client, () => ({ login_app_id, client_id, grant_types }));
  });

  test('the versions that were made live', async () => {
    const flags = { versions: 'issue-token:11,add-comment:7' };
    await expectDone('release note', flags, () => flags);
    const other = { versions: 'issue-token:11 for alice' };
    expect(
      JSON.stringify(await linesOf(() => operate('release', 'note', other).catch(() => 0))),
    ).not.toMatch('alice');
  });

  test('an identity that is moved, and the person who loses it', async () => {
    const [to, from] = [await newPerson(service), await newPerson(service)];
    const flags = { 'login-user': to.loginUserId, provider: 'provider_f', subject: from.subject };
    const about = { login_user_id: to.loginUserId, provider: 'provider_f', move: true };
    const issuer = `${demo.sandbox_url}/provider_f`;
    await expectDone('identities add', { ...flags, issuer, move: true }, ({ identity_id }) => ({
      ...about,
      identity_id,
      former_login_user_id: from.loginUserId,
    }));
  });

  test('a secret in place of an id is rejected before it is logged', async () => {
    const { account_id, account_secret } = await operate('accounts', 'create', {
      name: 'Back office',
    });
    const revoke = operate('accounts', 'revoke', { account: account_id, secret: account_secret });
    await expect(revoke).rejects.toThrow(
      /^accounts revoke: --secret must be a complete id of the form sec_… \(see accounts show\)\.$/,
    );
    expect(running.output() + running.audit()).not.toContain(account_secret);
  });
});

describe('--reason', () => {
  const { run } = operatorWithFiles(running);
  const reason = ['--reason', 'Ticket 42: a phone was stolen.'];
  const operator_reason = reason[1];

  test('goes into the audit log, and nowhere else', async () => {
    const { loginUserId: login_user_id } = await newPerson(service);
    const about = { login_user_id, operator_reason };
    for (const verb of ['block', 'unblock', 'logout', 'delete']) {
      const flags = ['--login-user', login_user_id, ...reason, '--yes'];
      const [line] = await linesOf(() => run('login-users', verb, ...flags));
      expect(line).toMatchObject({ command: `login-users ${verb}`, result: 'done', ...about });
    }
    expect(running.output()).not.toContain(operator_reason);
  });

  test('of a command that changes nothing, or fails, is there, too', async () => {
    const login_user_id = `lu_${'A'.repeat(43)}`;
    const block = () => run('login-users', 'block', '--login-user', login_user_id, ...reason);
    expect(await linesOf(block)).toMatchObject([
      { result: 'rejected', login_user_id, operator_reason },
    ]);
    proxy.hook = (call) => (isWrite(call) ? 'fails before' : undefined);
    expect(await linesOf(block)).toMatchObject([
      { result: 'failed', login_user_id, operator_reason },
    ]);
    expect(running.output()).not.toContain(operator_reason);
  });

  test.each(['', 'x'.repeat(201), 'two\nlines', 'a\u202eb'])('%j is none', async (text) => {
    const flags = ['--login-user', `lu_${'A'.repeat(43)}`, '--reason', text];
    const { code, stderr } = await run('login-users', 'block', ...flags);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^login-users block: --reason must (not be empty|be up to 200 .*)\.\n$/,
      ),
    });
  });

  test('is a flag of each command that takes something away, or gives it back', () => {
    const withReason = [...commands.values()].filter(
      ({ flags }) => flags.reason?.kind === 'reason',
    );
    expect(withReason.map(({ words }) => words).toSorted()).toEqual([
      'access-requests revoke',
      'accounts delete',
      'accounts disable',
      'accounts enable',
      'accounts revoke',
      'accounts update',
      'clients revoke',
      'clients update',
      'devices disable',
      'identities add',
      'identities remove',
      'login-apps delete',
      'login-apps disable',
      'login-apps enable',
      'login-apps logout',
      'login-apps tokens revoke',
      'login-apps undo-logout',
      'login-apps update',
      'login-users block',
      'login-users delete',
      'login-users logout',
      'login-users merge',
      'login-users unblock',
      'mobile-applications remove',
      'providers remove',
      'providers tokens revoke',
      'signing-keys revoke',
    ]);
  });
});

/** The id of the secret that was there before a rotation. */
const oldSecretOf = ({ old_secrets }: Record<string, unknown>): unknown =>
  Object(old_secrets)[0].secret_id;
