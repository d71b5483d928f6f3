import { providerIds } from '../../lib/providers/provider-ids.ts';
import { callOperator } from '../operator/call/call-operator.ts';
import type { FunctionTarget } from '../operator/call/invoke-function.ts';
import type { Addresses } from './load-functions.ts';
import type { Sandbox } from './sandbox/sandbox.ts';

interface DemoStack {
  addresses: Addresses;
  sandbox: Pick<Sandbox, 'settings'>;
  operator: FunctionTarget;
}

/** The content of `.local/demo.json`. */
export type Demo = Awaited<ReturnType<typeof seedDemo>>;

/** Fills a stack with a demo, through the operator function alone. */
export async function seedDemo(stack: DemoStack) {
  const [login_app, other_login_app, login_app_without_mobile_application, account, other_account] =
    await Promise.all([
      createLoginApp(stack, 'Demo'),
      createLoginApp(stack, 'Other demo'),
      createLoginApp(stack, 'Demo without mobile application', []),
      createAccount(stack, 'Demo back office'),
      createAccount(stack, 'Other back office'),
    ]);
  return {
    ...stack.addresses,
    login_app,
    other_login_app,
    login_app_without_mobile_application,
    account,
    other_account,
    access_request_id: await createAccessRequest(stack, account.account_id),
  };
}

/**
 * Adapts a demo that was kept to the stack as it is now: the sandbox's providers have new keys and
 * secrets.
 */
export async function reviveDemo(stack: DemoStack, kept: Demo): Promise<Demo> {
  const apps = [kept.login_app, kept.other_login_app, kept.login_app_without_mobile_application];
  await Promise.all(apps.map(({ login_app_id }) => setProviders(stack, login_app_id)));
  return { ...kept, ...stack.addresses };
}

/** Lets guests into the demo's Login App, as the client guide and the quickstarts need it. */
export const letInGuests = ({ operator }: DemoStack, { login_app: { login_app_id } }: Demo) =>
  callOperator(operator, 'login-apps set-guests', { 'login-app': login_app_id, days: 90 });

const setProviders = ({ operator, sandbox }: DemoStack, login_app: string) =>
  Promise.all(
    providerIds.map((provider) => {
      const settings = sandbox.settings[provider];
      return callOperator(operator, 'providers set', {
        'login-app': login_app,
        provider,
        settings,
      });
    }),
  );

async function createLoginApp(stack: DemoStack, name: string, platforms = ['ios', 'android']) {
  const { operator } = stack;
  const login_app_id = String(
    (await callOperator(operator, 'login-apps create', { name })).login_app_id,
  );
  const [client] = await Promise.all([
    callOperator(operator, 'clients create', { 'login-app': login_app_id }),
    setProviders(stack, login_app_id),
    ...platforms.map((platform) =>
      callOperator(operator, 'mobile-applications set', { 'login-app': login_app_id, platform }),
    ),
  ]);
  return {
    login_app_id,
    client_id: String(client.client_id),
    client_secret: String(client.client_secret),
  };
}

async function createAccount({ operator }: DemoStack, name: string) {
  const { account_id, account_secret } = await callOperator(operator, 'accounts create', { name });
  return { account_id: String(account_id), account_secret: String(account_secret) };
}

async function createAccessRequest({ operator }: DemoStack, account: string): Promise<number> {
  const { access_request_id: id } = await callOperator(operator, 'access-requests create', {
    account,
  });
  const add = (command: string, type: string, actor: string, flags: object) =>
    callOperator(operator, command, {
      'access-request': id,
      'actor-type': type,
      'actor-id': actor,
      ...flags,
    });
  await add('comments add', 'login_user', '1001', { comment: 'Please have a look at this.' });
  await add('reviews add', 'custom', 'risk-desk', {
    status: 'rejected',
    comment: 'A page is missing.',
  });
  await add('reviews add', 'login_user', '1002', { status: 'approved', comment: '' });
  return Number(id);
}
