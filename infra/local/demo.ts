import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { providerIds } from '../../lib/providers/provider-ids.ts';
import { callOperator } from '../call-operator.ts';
import type { FunctionTarget } from '../invoke-function.ts';
import type { Sandbox } from './sandbox/sandbox.ts';

interface DemoStack {
  url: string;
  sandbox: Pick<Sandbox, 'url' | 'settings'>;
  dynamoDbEndpoint: string;
  tableName: string;
  operator: FunctionTarget;
}

/** The content of `.local/demo.json`. */
export type Demo = Awaited<ReturnType<typeof seedDemo>>;

type Operate = ReturnType<typeof operateOn>;

const operateOn =
  ({ operator }: DemoStack) =>
  (words: string, flags: Record<string, unknown>) =>
    callOperator(operator, words, flags);

/** Fills a stack with a demo, through the operator function alone. */
export async function seedDemo(stack: DemoStack) {
  const operate = operateOn(stack);
  const settings = stack.sandbox.settings;
  const [login_app, other_login_app, login_app_without_mobile_application, account, other_account] =
    await Promise.all([
      createLoginApp(operate, 'Demo', settings, ['ios', 'android']),
      createLoginApp(operate, 'Other demo', settings, ['ios', 'android']),
      createLoginApp(operate, 'Demo without mobile application', settings, []),
      createAccount(operate, 'Demo back office'),
      createAccount(operate, 'Other back office'),
    ]);
  return {
    base_url: stack.url,
    sandbox_url: stack.sandbox.url,
    dynamodb_endpoint: stack.dynamoDbEndpoint,
    table_name: stack.tableName,
    login_app,
    other_login_app,
    login_app_without_mobile_application,
    account,
    other_account,
    access_request_id: await createAccessRequest(operate, account.account_id),
  };
}

/** A demo that was kept, on the stack as it is now: the sandbox's providers have new keys and secrets. */
export async function reviveDemo(stack: DemoStack, kept: Demo): Promise<Demo> {
  const operate = operateOn(stack);
  const apps = [kept.login_app, kept.other_login_app, kept.login_app_without_mobile_application];
  await Promise.all(
    apps.map(({ login_app_id }) => setProviders(operate, login_app_id, stack.sandbox.settings)),
  );
  return { ...kept, dynamodb_endpoint: stack.dynamoDbEndpoint, table_name: stack.tableName };
}

const setProviders = (operate: Operate, login_app_id: string, settings: Record<string, unknown>) =>
  Promise.all(
    providerIds.map((provider) =>
      operate('providers set', { 'login-app': login_app_id, provider, settings: settings[provider] }),
    ),
  );

async function createLoginApp(
  operate: Operate,
  name: string,
  settings: Record<string, unknown>,
  platforms: string[],
) {
  const login_app_id = String((await operate('login-apps create', { name })).login_app_id);
  const [client] = await Promise.all([
    operate('clients create', { 'login-app': login_app_id }),
    setProviders(operate, login_app_id, settings),
    ...platforms.map((platform) =>
      operate('mobile-applications set', { 'login-app': login_app_id, platform }),
    ),
  ]);
  return { login_app_id, client_id: String(client.client_id), client_secret: String(client.client_secret) };
}

async function createAccount(operate: Operate, name: string) {
  const { account_id, account_secret } = await operate('accounts create', { name });
  return { account_id: String(account_id), account_secret: String(account_secret) };
}

async function createAccessRequest(operate: Operate, account: string): Promise<number> {
  const { access_request_id: id } = await operate('access-requests create', { account });
  const add = (noun: string, type: string, actor: string, flags: object) =>
    operate(`${noun} add`, { 'access-request': id, 'actor-type': type, 'actor-id': actor, ...flags });
  await add('comments', 'login_user', '1001', { comment: 'Please have a look at this.' });
  await add('reviews', 'custom', 'risk-desk', { status: 'rejected', comment: 'A page is missing.' });
  await add('reviews', 'login_user', '1002', { status: 'approved', comment: '' });
  return Number(id);
}

/** The README's lines after the variables: requests to all five endpoints of the interface, with curl and sed. */
const [requests = ''] =
  readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8').match(/^field\(\).*?(?=^```$)/ms) ?? [];

/** The README's lines to paste into a shell, with this demo's values. */
export const tryIt = ({ base_url, sandbox_url, login_app, account, access_request_id }: Demo): string => `\
BASE=${base_url}
SANDBOX=${sandbox_url}
CLIENT='${login_app.client_id}:${login_app.client_secret}'
ACCOUNT='${account.account_id}:${account.account_secret}'
ACCESS_REQUEST=${access_request_id}
${requests}`;
