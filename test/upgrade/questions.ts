import { forEachInBatches } from '../../lib/storage/batches.ts';
import { asAccount, asClient, type Service } from '../support/service.ts';
import type { Left, Login } from './left.ts';

/** A request, or an operator's command, that changes nothing. */
type Question =
  | { path: string; headers?: Record<string, string>; form?: Record<string, string> }
  | { words: string; flags: Record<string, unknown> };

/** With what is asked and of whom, different in all questions. */
type NamedQuestion = Question & { about: string };

/** The answers to questions, by what they are about. */
export async function askAll(
  service: Service,
  questions: NamedQuestion[],
): Promise<Left['answers']> {
  const answers: Left['answers'] = Object.fromEntries(
    questions.map(({ about }) => [about, undefined]),
  );
  await forEachInBatches(questions, async (question) => {
    answers[question.about] = await ask(service, question);
  });
  return answers;
}

/**
 * The answer to a question, without the time. Of a refusal, it does not have the reason, which may
 * be said in other words.
 */
async function ask({ call, operate }: Service, question: NamedQuestion): Promise<unknown> {
  if ('words' in question) {
    const { sessions, ...result }: Record<string, unknown> = await run(
      operate,
      question.words,
      question.flags,
    ).catch(() => ({ refused: true }));
    // Versions differ in the order of sessions.
    const byId = Array.isArray(sessions) ? sessions.toSorted(bySessionId) : sessions;
    return { ...result, ...(byId !== undefined && { sessions: byId }), exported_at: undefined };
  }
  const { path, headers = {}, form } = question;
  const { status, body } = await call(path, {
    headers,
    ...(form && { method: 'POST', body: new URLSearchParams(form) }),
  });
  return { status, ...(status < 400 ? { body } : { error: body.error }) };
}

const bySessionId = (a: { session_id: string }, b: { session_id: string }): number =>
  a.session_id < b.session_id ? -1 : 1;

export function run(
  operate: Service['operate'],
  words: string,
  flags: Record<string, unknown> = {},
) {
  const [noun = '', ...verb] = words.split(' ');
  return operate(noun, verb.join(' '), flags);
}

/** Everything that can be asked about what was left, with every token and every id. */
export const questionsAbout = (left: Omit<Left, 'answers'>): NamedQuestion[] => [
  ...Object.entries({ ...left.people, second: left.second }).flatMap(([name, one]) =>
    ofPerson(left, name, one),
  ),
  ...ofLoginApp(left),
  ...ofAccounts(left),
];

/** The providers of the sandbox whose ids of people are their subjects. */
const keepsSubjects = ['provider_a', 'provider_b', 'provider_f'];

function ofPerson({ demo }: Pick<Left, 'demo'>, name: string, login: Login): NamedQuestion[] {
  const { id, session, provider, subject, access_token, refresh_token } = login;
  const commands = ['login-users show', 'login-users export', 'sessions list', 'devices list'];
  const pages = ['', '/sessions', '/push_notifications/devices'];
  const flags = { 'login-user': id };
  const found = { 'login-app': demo.login_app.login_app_id, provider, subject };
  const issuer = provider === 'provider_f' && { issuer: `${demo.sandbox_url}/provider_f` };
  return [
    ...pages.map((path) => ({
      path: `/v2/marketing/login/user${path}`,
      headers: { authorization: `Bearer ${access_token}` },
    })),
    {
      path: `/v2/marketing/push_notifications/recipients?login_user_id=${id}`,
      headers: asClient(demo.login_app),
    },
    ...commands.map((words) => ({ words, flags })),
    ...(keepsSubjects.includes(provider)
      ? [{ words: 'login-users find', flags: { ...found, ...issuer } }]
      : []),
    { words: 'sessions show', flags: { ...flags, session } },
    ...Object.entries({ access_token, refresh_token }).flatMap(([kind, token]) => [
      { about: `${kind} introspect`, ...introspection(demo, token) },
      { about: `${kind} sessions find`, words: 'sessions find', flags: { token } },
    ]),
  ].map((question) => named(name, question));
}

function ofLoginApp(left: Omit<Left, 'answers'>): NamedQuestion[] {
  const { demo, devices, limited, secondSecret, appToken, longLived } = left;
  const flags = { 'login-app': demo.login_app.login_app_id };
  const commands = [
    'login-apps show',
    'login-apps tokens list',
    'clients list',
    'providers show',
    'login-users list',
    'devices list',
    'devices export',
  ];
  const shards = Array.from({ length: 16 }, (_, shard) => shard);
  const secrets = { secret: demo.login_app.client_secret, secondSecret };
  return [
    { path: '/v2/marketing/oauth/jwks' },
    { path: '/.well-known/oauth-authorization-server' },
    ...shards.map((shard) => ({
      path: `/v2/marketing/push_notifications/recipients?shard=${shard}`,
      headers: asClient(demo.login_app),
    })),
    ...Object.entries({ appToken, longLived: longLived.token }).map(([kind, token]) => ({
      about: `${kind} introspect`,
      ...introspection(demo, token),
    })),
    ...commands.map((words) => ({ words, flags })),
    ...Object.entries(secrets).map(([kind, secret]) => ({
      about: `${kind} clients find`,
      words: 'clients find',
      flags: { ...flags, secret },
    })),
    { words: 'clients show', flags: { client: limited.client_id } },
    { words: 'login-apps list', flags: {} },
    { words: 'login-apps find', flags: { name: 'demo' } },
    ...Object.entries(devices).map(([name, device]) => ({
      about: `${name} devices show`,
      words: 'devices show',
      flags: { device },
    })),
    {
      words: 'devices find',
      flags: { ...flags, platform: 'android', token: 'push-token-of-related' },
    },
  ].map((question) => named('app', question));
}

function ofAccounts({
  demo,
  accessRequestId,
  reader,
  disabled,
}: Omit<Left, 'answers'>): NamedQuestion[] {
  const path = `/v1/rbac/access_requests/${accessRequestId}`;
  const queries = [
    '',
    '?order=desc',
    '?actor_type=custom',
    '?actor_id=risk-desk',
    '?ids=1,3',
    '?page_size=1&page=2',
  ];
  const accounts = { account: demo.account, other: demo.other_account, reader, disabled };
  const ofAccount = ['accounts show', 'access-requests list'];
  const ofRequest = ['access-requests show', 'events list', 'events export'];
  const { account_id: account } = demo.other_account;
  return [
    ...queries.flatMap((query) =>
      ['events', 'reviews'].map((list) => ({
        path: `${path}/${list}${query}`,
        headers: asAccount(demo.account),
      })),
    ),
    ...Object.entries(accounts).flatMap(([name, one]) => [
      { about: `${name} search`, path: `${path}/events`, headers: asAccount(one) },
      ...ofAccount.map((words) => ({
        about: `${name} ${words}`,
        words,
        flags: { account: one.account_id },
      })),
    ]),
    { words: 'accounts list', flags: {} },
    { words: 'accounts find', flags: { name: 'demo' } },
    { words: 'access-requests find', flags: { account, 'imported-id': 'old-7' } },
    ...ofRequest.map((words) => ({ words, flags: { 'access-request': accessRequestId } })),
  ].map((question) => named('account', question));
}

const named = (name: string, question: Question & { about?: string }): NamedQuestion => {
  const { about = 'words' in question ? question.words : question.path } = question;
  return { ...question, about: `${name}: ${about}` };
};

const introspection = (demo: Left['demo'], token: string) => ({
  path: '/v2/marketing/oauth/introspect',
  headers: asClient(demo.login_app),
  form: { token },
});
