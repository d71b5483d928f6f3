import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { newClientKey } from '../support/client-assertions.ts';
import { createLoginApp } from '../support/login-app.ts';
import { failed, operator, succeeded } from '../support/operator.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The secret in a file that only its owner can read. */
function secretIn(file: string): string {
  expect(statSync(file).mode & 0o777).toBe(0o600);
  return readFileSync(file, 'utf8').replace(/\n$/, '');
}

describe('npm run operator: --secret-to writes a new secret to a file and does not print it', () => {
  test('accounts create and rotate', async () => {
    const [first, second] = [join(folder, 'account'), join(folder, 'account-2')];
    const created = await succeeded('accounts', 'create', '--name', 'Test', '--secret-to', first);
    const account_id = String(created.account_id);
    expect(created).toEqual({ account_id, account_secret_file: first });
    const rotated = await succeeded(
      'accounts',
      'rotate',
      '--account',
      account_id,
      '--secret-to',
      second,
    );
    expect(rotated).toEqual({
      account_id,
      account_secret_file: second,
      old_secrets: [expect.anything()],
    });
    const { access_request_id } = await service.operate('access-requests', 'create', {
      account: account_id,
    });
    for (const file of [first, second]) {
      const account = { account_id, account_secret: secretIn(file) };
      const found = await service.search('', { account, id: Number(access_request_id) });
      expect(found.status).toBe(200);
    }
  });

  test('clients create and login-apps tokens create', async () => {
    const { login_app_id } = await createLoginApp(service, unique('app'), {
      platforms: ['android'],
    });
    const flags = ['--login-app', login_app_id];
    const [secretFile, tokenFile] = [join(folder, 'client'), join(folder, 'token')];
    const { client_id } = await succeeded('clients', 'create', ...flags, '--secret-to', secretFile);
    const client = {
      login_app_id,
      client_id: String(client_id),
      client_secret: secretIn(secretFile),
    };
    expect((await service.token({ grant_type: 'client_credentials' }, client)).status).toBe(200);
    await succeeded(
      'login-apps',
      'tokens',
      'create',
      ...flags,
      '--name',
      'x',
      '--secret-to',
      tokenFile,
    );
    const device = { platform: 'android', token: 'secret-to' };
    expect((await service.register(device, secretIn(tokenFile))).status).toBe(201);
  });

  test('clients create, of one with a key: there is no secret, and no file', async () => {
    const [keys, file] = [join(folder, 'keys.json'), join(folder, 'no-secret')];
    const { jwk, thumbprint } = await newClientKey();
    writeFileSync(keys, JSON.stringify({ keys: [jwk] }));
    const app = ['--login-app', service.demo.login_app.login_app_id];
    const created = await succeeded(
      'clients',
      'create',
      ...app,
      '--jwks-file',
      keys,
      '--secret-to',
      file,
    );
    expect(created).toMatchObject({ key_thumbprints: [thumbprint] });
    expect([created.client_secret_file, existsSync(file)]).toEqual([undefined, false]);
  });

  test('a file that exists stays as it is, and no secret is created', async () => {
    const { account_id } = await service.operate('accounts', 'create', { name: 'Test' });
    const file = join(folder, 'mine');
    writeFileSync(file, 'mine');
    const rotate = ['accounts', 'rotate', '--account', String(account_id)];
    expect(await failed(...rotate, '--secret-to', file)).toBe(
      `--secret-to: the file ${file} exists already.`,
    );
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(await failed(...rotate, '--secret-to', '/nowhere/x')).toBe(
      '--secret-to: the file /nowhere/x cannot be created.',
    );
    // There is one secret still, so a second one may be created.
    expect((await succeeded(...rotate)).old_secrets).toHaveLength(1);
  });

  test('a command that fails leaves no file', async () => {
    const file = join(folder, 'none');
    const unknown = `--account=ac_${'A'.repeat(22)}`;
    const { code } = await operator('accounts', 'rotate', unknown, '--secret-to', file, '--local');
    expect({ code, exists: existsSync(file) }).toEqual({ code: 1, exists: false });
  });
});
