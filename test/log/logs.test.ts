import { setTimeout as wait } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { providerIds } from '../../lib/providers/provider-ids.ts';
import { createClient, createLoginApp, type LoginApp } from '../support/login-app.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { prepareLogin, type Target, targets } from '../support/provider-targets.ts';
import { type Answer, basic, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { hexToken } from '../support/tokens.ts';

const { running, service, proxy } = await sharedServiceWithStore();
const standIn = await startProviderStandIn();
/** All that must not be found in what the process writes. */
const secrets = new Set<string>();
const answers: Answer[] = [];

const secret = (value: string): string => {
  secrets.add(value);
  return value;
};
const newSecret = (): string => secret(unique('very-secret'));

/** Keeps an answer for its status, and whatever it hands out as a secret. */
async function keep(answering: Promise<Answer>): Promise<Answer> {
  const answer = await answering;
  answers.push(answer);
  for (const name of ['access_token', 'refresh_token']) {
    if (answer.body?.[name]) secret(answer.body[name]);
  }
  return answer;
}

async function useDevices(client: LoginApp) {
  const appToken = (await keep(service.token({ grant_type: 'client_credentials' }, client))).body
    .access_token;
  const form = await service.loginForm('provider_f');
  secret(form.id_token ?? '');
  const userToken = (await keep(service.token(form, client))).body.access_token;
  const device = { platform: 'ios', token: secret(hexToken()) };
  const { id } = (await keep(service.register(device, appToken))).body;
  for (const platform of ['android', 'ios'])
    await keep(service.register({ platform, token: newSecret() }, appToken));
  await keep(service.register([newSecret()], appToken));
  for (const token of [userToken, newSecret()]) await keep(service.register(device, token));
  for (const token of [userToken, appToken]) await keep(service.relate(id, token));
  await keep(service.relate(newSecret(), userToken));
  const headers = { authorization: `Bearer ${appToken}` };
  const malformed = `{"device":"${newSecret()}`;
  await keep(service.json('/v2/marketing/push_notifications/devices', malformed, headers));
  proxy.hook = () => 'fails before';
  await keep(service.register(device, appToken));
  await keep(service.relate(id, userToken));
  await keep(service.token(form, client));
  await keep(service.search());
  proxy.hook = () => undefined;
}

async function sendNonsense(client: LoginApp) {
  const wrong = { ...client, client_secret: newSecret() };
  secret(basic(wrong.client_id, wrong.client_secret).slice('Basic '.length));
  await keep(service.token({ grant_type: 'client_credentials' }, wrong));
  await keep(service.token({ grant_type: newSecret() }, client));
  await keep(service.token({ grant_type: 'provider_credentials', provider: newSecret() }, client));
  for (const provider of providerIds) {
    const fields = { access_token: newSecret(), access_secret: newSecret(), id_token: newSecret() };
    await keep(service.token({ grant_type: 'provider_credentials', provider, ...fields }, client));
    for (const [name, value] of Object.entries(fields)) {
      await keep(
        service.token({ grant_type: 'provider_credentials', provider, [name]: value }, client),
      );
    }
  }
  const stranger = { account_id: service.demo.account.account_id, account_secret: newSecret() };
  await keep(service.search('', { account: stranger }));
  await keep(service.search(`?page=${newSecret()}&actor_id=${newSecret()}`));
}

/** Providers that fail, and quote in their answer what they were sent. */
async function meetFailingProviders() {
  for (const target of Object.values<Target>(targets)) {
    const scene = standIn.openScene();
    const { app, form } = await prepareLogin(service, scene, target);
    secret(app.client_secret);
    const { grant_type, provider, ...fields } = form;
    const sent = Object.fromEntries(
      Object.entries<string>(fields).map(([name, value]) => [
        name,
        name === 'id_token' ? secret(value) : newSecret(),
      ]),
    );
    const quoted = Object.values(sent).join(' ');
    const location = `http://127.0.0.1:1/?${new URLSearchParams(sent)}`;
    for (const wrong of [
      { status: 500, body: quoted },
      { status: 200, body: quoted },
      { status: 200, body: { error: quoted, sub: { quoted } } },
      { status: 302, headers: { location } },
      { status: 200, body: ' '.repeat(70_000) },
    ]) {
      scene.answer(target.endpoint, wrong);
      await keep(service.token({ grant_type, provider, ...sent }, app));
    }
  }
}

async function operateWithSecrets(login_app_id: string): Promise<void> {
  const settings = {
    verify_url: 'https://provider.example/verify',
    consumer_key: 'key',
    consumer_secret: newSecret(),
  };
  const set = (settings: unknown) => service.setProvider({ login_app_id }, 'provider_c', settings);
  await set(settings);
  await set({ ...settings, verify_url: newSecret() }).catch(() => undefined);
  proxy.hook = () => 'fails before';
  await expect(set(settings)).rejects.toThrow('The command failed');
  proxy.hook = () => undefined;
}

beforeAll(async () => {
  // The demo's own secrets are printed, for people to paste; so these are other ones.
  const app = await createLoginApp(service, unique('app'));
  const client = await createClient(service, service.demo.login_app.login_app_id);
  secret(client.client_secret);
  secret(app.client_secret);
  secret(basic(client.client_id, client.client_secret).slice('Basic '.length));
  await meetFailingProviders();
  await useDevices(client);
  await sendNonsense(client);
  await operateWithSecrets(app.login_app_id);
  await everyRequestReported();
});

/** The lines that come after what is printed at the start. */
const logLines = (): string[] => {
  const lines = running.output().trimEnd().split('\n');
  return lines.slice(lines.findLastIndex((line) => line.startsWith('curl ') || line === '') + 1);
};
const requestLine = /^(GET|POST|PUT|DELETE) \/\S* \d{3} \d+ ms( [a-z_]+(: \w+)?)?$/;
const requestLines = (): string[] => logLines().filter((line) => requestLine.test(line));

async function everyRequestReported(): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (requestLines().length < answers.length && Date.now() < deadline) await wait(20);
}

describe('what the process writes', () => {
  test('none of the tokens, secrets and push tokens is in it, whole or in part', () => {
    const output = running.output();
    expect(secrets.size).toBeGreaterThan(50);
    const parts = [...secrets].flatMap((value) => [
      value,
      encodeURIComponent(value),
      JSON.stringify(value).slice(1, -1),
      Buffer.from(value).toString('base64'),
      // The claims and the signature of a token tell as much as all of it.
      ...value.split('.').filter((part) => part.length >= 20),
    ]);
    // Parts that are no secret: the ids of people, sessions, clients and Login Apps.
    const isId = (part: string) => /^(lu|s|la|c)_[\w-]+$/.test(part);
    const found = parts.filter((part) => !isId(part) && output.includes(part));
    expect(found).toEqual([]);
  });

  test('one line for each request: method, path, status, milliseconds; no query', () => {
    expect(requestLines().length).toBe(answers.length);
    const statuses = requestLines().map((line) => Number(line.split(' ')[2]));
    expect(statuses).toEqual(answers.map(({ status }) => status));
    expect(running.output()).not.toContain('?page=');
  });

  test('all else is one JSON object a line: each 500 with its request id and its cause', () => {
    // On a store with streams, the events that are published show too.
    const publishedLine = /^event [\w.]+ \{.*\}$/;
    const others = logLines().filter(
      (line) => !requestLine.test(line) && !publishedLine.test(line),
    );
    const entries = others.map((line) => JSON.parse(line));
    const failed = entries.filter(({ message }) =>
      ['request_failed', 'provider_failed'].includes(message),
    );
    const wanted = answers.filter(({ status }) => status === 500);
    expect(failed.map(({ request_id }) => request_id)).toEqual(
      wanted.map(({ headers }) => headers.get('x-request-id')),
    );
    for (const entry of failed) {
      expect(entry.level).toBe('ERROR');
      expect(entry.failure).toMatchObject({ name: expect.stringMatching(/./) });
    }
    expect(entries.filter(({ message }) => message === 'operator_command_failed').length).toBe(1);
  });
});
