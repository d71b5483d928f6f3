import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { exampleOf } from '../../infra/operator/help.ts';
import { platforms } from '../../lib/login-apps/client-metadata.ts';
import { commands } from '../../lib/operator/commands/index.ts';
import { operator } from '../support/operator.ts';
import { ownService } from '../support/own-service.ts';
import { newPerson, newPhone } from '../support/people.ts';
import { newPublicClient } from '../support/phone.ts';

const { running, service } = await ownService({}, { movableClock: true });
const { demo } = service;
const run = operator.at(running.directory);

/** The variables of the shell in which the examples are typed. */
const variables: Record<string, string> = {
  LOGIN_APP: demo.login_app.login_app_id,
  CLIENT: demo.login_app.client_id,
  ACCOUNT: demo.account.account_id,
  NAME: 'Example',
  IMPORTED_ID: 'old-1',
  ACTOR_ID: 'staff-1',
  COMMENT: 'Looks good.',
  SUBJECT: 'example-person',
  API_URL: `${demo.sandbox_url}/risc`,
};

/** Results that later examples continue from. */
const learned: Record<string, (result: ReturnType<typeof Object>) => Record<string, string>> = {
  'accounts rotate': ({ old_secrets: [{ secret_id }] }) => ({ SECRET: secret_id }),
  'access-requests create': ({ access_request_id }) => ({
    ACCESS_REQUEST: String(access_request_id),
  }),
  'login-apps tokens create': ({ token_id }) => ({ TOKEN: token_id }),
  'identities list': ({ identities: [{ id }] }) => ({ IDENTITY: id }),
  'probes create': ({ login_app_id, client_id, account_id }) => ({
    LOGIN_APP: login_app_id,
    CLIENT: client_id,
    ACCOUNT: account_id,
  }),
};

const folder = mkdtempSync(join(tmpdir(), 'examples-'));
const files: Record<string, string> = {
  'access-requests.ndjson': '{"id":"old-1","created_at":"2026-01-01T00:00:00.000Z"}\n',
  'events.ndjson': '',
  'people.ndjson': '',
};

beforeAll(async () => {
  const { body } = await service.logIn(variables.SUBJECT ?? '', 'provider_a');
  const { sub, sid } = decodeJwt(body.access_token);
  const phone = await newPhone(service);
  await service.relate(phone, body.access_token);
  const { kid } = decodeProtectedHeader(body.access_token);
  const other = await newPerson(service);
  const PUBLIC_CLIENT = await newPublicClient(service);
  Object.assign(variables, {
    PUBLIC_CLIENT,
    LOGIN_USER: sub,
    GIVEN_UP: other.loginUserId,
    REASON: 'ticket-7',
    SESSION: sid,
    DEVICE: phone,
    KID: kid,
  });
  const { privateKey: private_key } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const key = { client_email: 'risc@example.com', private_key_id: 'k1', private_key };
  files['service-account.json'] = JSON.stringify(key);
  files['secret.txt'] = demo.login_app.client_secret;
  // The token of a device is in the file, too, that an example of sessions names.
  files['token.txt'] = body.refresh_token;
  const device = { token: body.refresh_token, token_type: 'fcm' };
  const lines = platforms.map((platform) => `${JSON.stringify({ platform, ...device })}\n`);
  files['devices.ndjson'] = lines.join('');
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
});

/**
 * Commands in an order in which each finds what its example is about; the last take away what
 * others need.
 */
const stages = [
  /^(?!probes).*create$|(access-requests|devices) import|accounts rotate|set(-providers)?$/,
  /^(?!probes).*(add|grant|import|list|show|find|check|subscribe|describe|export|rename|update|deletions|revocations)$/,
  /logout$|enable$|unblock$|disable$|block$/,
  /accounts revoke|tokens revoke|identities remove|access-requests revoke/,
  /login-users merge/,
  /^(?!probes).*remove$|clients (rotate|revoke)|login-users delete/,
];
const stageOf = ({ words }: { words: string }): number => {
  const stage = stages.findIndex((form) => form.test(words));
  return stage < 0 ? stages.length : stage;
};

const wordsOf = (example: string): string[] =>
  example
    .replace(/^npm run -s operator -- /, '')
    .split(' ')
    .map((word) =>
      word in files
        ? join(folder, word)
        : word.replace(/^"\$(\w+)"$/, (_, name) => variables[name] ?? ''),
    );

test('every example does what it says, in the order in which each finds what it is about', async () => {
  for (const command of [...commands.values()].toSorted((a, b) => stageOf(a) - stageOf(b))) {
    const { words } = command;
    if (words === 'login-apps delete') {
      // The deletion of one that was disabled a minute ago waits no longer.
      await service.operate('login-apps', 'disable', { 'login-app': variables.LOGIN_APP });
      running.advance(60);
    }
    const { code, stdout, stderr } = await run(...wordsOf(exampleOf(command)), '--yes');
    if (words === 'identities remove')
      expect(stderr).toMatch(/^The last identity cannot be unlinked/);
    // The example of `providers set` has no notifications.
    else if (words === 'providers subscribe')
      expect([code, stderr]).toEqual([0, expect.stringMatching(/^Warning/)]);
    else expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: '' });
    const learn = learned[words];
    if (learn) Object.assign(variables, learn(JSON.parse(stdout)));
  }
});
