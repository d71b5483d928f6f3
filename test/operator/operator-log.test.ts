import { describe, expect, test } from '@jest/globals';
import { auditLines, type LogLine } from '../support/log-lines.ts';
import { createLoginApp } from '../support/login-app.ts';
import { ownService } from '../support/own-service.ts';
import { unique } from '../support/service.ts';

const { running, service } = await ownService();

/** The last audit line with these fields. */
function lastLine(fields: Record<string, unknown>): LogLine {
  const found = auditLines(running).findLast((line) =>
    Object.entries(fields).every(([name, value]) => line[name] === value),
  );
  if (!found) throw new Error(`There is no audit line with ${JSON.stringify(fields)}.`);
  return found;
}

describe('what an operator does with providers', () => {
  const issuer = { issuer: 'https://provider.example', audiences: ['our-app'] };
  const settings = { issuers: [issuer] };

  test('carried out: a line without the settings', async () => {
    const app = await createLoginApp(service, unique('app'));
    const ids = { login_app_id: app.login_app_id, provider: 'provider_f' };
    await service.setProvider(app, 'provider_f', settings);
    const line = lastLine({ command: 'providers set', result: 'done', ...ids });
    expect(line).toMatchObject({ level: 'INFO', ...ids });
    expect(JSON.stringify(line)).not.toContain('provider.example');
  });

  test('rejected: a line without the settings', async () => {
    const app = await createLoginApp(service, unique('app'));
    const ids = { login_app_id: app.login_app_id, provider: 'provider_f' };
    const flags = { 'login-app': app.login_app_id, provider: 'provider_f' };
    const invalid = { ...flags, settings: { issuers: [{ ...issuer, audiences: 'our-app' }] } };
    await expect(service.operate('providers', 'set', invalid)).rejects.toThrow(
      'The settings of provider_f are invalid: issuers.0.audiences: must be a list of app ids.',
    );
    const line = lastLine({ command: 'providers set', result: 'rejected', ...ids });
    expect(JSON.stringify(line)).not.toContain('provider.example');
  });
});

describe('the audit line of a command names what each command was about', () => {
  /** Carries a command out; its line without what the logger adds to each. */
  async function lineFor(noun: string, verb: string, flags: Record<string, unknown>) {
    const result = await service.operate(noun, verb, flags);
    const fields = Object.entries(flags).filter(([name]) =>
      /^(login-app|client|token|secret|account)$/.test(name),
    );
    const made = Object.entries(result).filter(([name]) =>
      /^(login_app|client|token|account|access_request)_id$/.test(name),
    );
    const ids = Object.fromEntries(fields.map(([name, id]) => [`${name.replaceAll('-', '_')}_id`, id]));
    const found = lastLine({
      command: `${noun} ${verb}`,
      ...Object.fromEntries(made),
      ...ids,
    });
    const ofEachLine = ['timestamp', 'level', 'message', 'service', 'event', 'request_id'];
    const ofEachCommand = ['command', 'caller', 'operator', 'result'];
    const own = Object.entries(found).filter(([name]) => ![...ofEachLine, ...ofEachCommand].includes(name));
    return { result, line: Object.fromEntries(own) };
  }

  test('the ids that it made, and no name or secret', async () => {
    const { result: app, line: created } = await lineFor('login-apps', 'create', { name: 'An app' });
    const login_app_id = String(app.login_app_id);
    expect(created).toEqual({ login_app_id });
    const flags = { 'login-app': login_app_id };
    const { result: client, line } = await lineFor('clients', 'create', flags);
    expect(line).toEqual({ login_app_id, client_id: client.client_id });
    const token = await lineFor('login-apps', 'tokens create', { ...flags, name: 'iOS' });
    expect(token.line).toEqual({ login_app_id, token_id: token.result.token_id });
    const account = await lineFor('accounts', 'create', { name: 'Back office' });
    expect(account.line).toEqual({ account_id: account.result.account_id });
  });

  test('the access request and the event of a comment, and not what it says or who wrote it', async () => {
    const account = service.demo.account.account_id;
    const { result, line: created } = await lineFor('access-requests', 'create', { account });
    const { access_request_id } = result;
    expect(created).toEqual({ account_id: account, access_request_id });
    const author = { 'actor-type': 'custom', 'actor-id': unique('desk') };
    const comment = { ...author, 'access-request': access_request_id, comment: 'No.' };
    const { line } = await lineFor('comments', 'add', comment);
    expect(line).toEqual({ access_request_id, event_id: 1, actor_type: 'custom' });
  });

  test('the token, the client, the account and the secret that are revoked', async () => {
    const { login_app_id } = await service.operate('login-apps', 'create', { name: 'An app' });
    const flags = { 'login-app': login_app_id };
    const { token_id } = await service.operate('login-apps', 'tokens create', { ...flags, name: 'iOS' });
    const revoked = await lineFor('login-apps', 'tokens revoke', { ...flags, token: token_id });
    expect(revoked.line).toEqual({ login_app_id, token_id });

    const { client_id } = await service.operate('clients', 'create', flags);
    const client = { ...flags, client: client_id };
    const ofClient = secretIdOf(await service.operate('clients', 'rotate', client));
    const clientsSecret = await lineFor('clients', 'revoke', { ...client, secret: ofClient });
    expect(clientsSecret.line).toEqual({ login_app_id, client_id, secret_id: ofClient });

    const { account_id } = await service.operate('accounts', 'create', { name: 'Back office' });
    const ofAccount = secretIdOf(await service.operate('accounts', 'rotate', { account: account_id }));
    const accountsSecret = await lineFor('accounts', 'revoke', { account: account_id, secret: ofAccount });
    expect(accountsSecret.line).toEqual({ account_id, secret_id: ofAccount });
  });

  test('a secret in place of an id is rejected before it is logged', async () => {
    const { account_id, account_secret } = await service.operate('accounts', 'create', {
      name: 'Back office',
    });
    const revoke = service.operate('accounts', 'revoke', { account: account_id, secret: account_secret });
    await expect(revoke).rejects.toThrow(
      /^accounts revoke: --secret must be a complete id of the form sec_… \(see accounts show\)\.$/,
    );
    expect(running.output()).not.toContain(account_secret);
  });
});

/** The id of the secret that was there before a rotation. */
const secretIdOf = ({ old_secrets }: Record<string, unknown>): unknown => Object(old_secrets)[0].secret_id;
