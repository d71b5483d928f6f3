import { spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from '@jest/globals';
import { serve } from '../../infra/local/loopback-server.ts';
import { sharedService, unique } from '../support/service.ts';
import { origin, startWebSite, webSite } from './web-site.ts';

const service = sharedService();
const { base_url, sandbox_url, login_app } = service.demo;

/** What stands between the web site and the service. */
const between = {
  isDown: false,
  /** Whether the next access token is said to have expired. */
  expireNext: false,
  /** Whether the next access token that comes is refused. */
  rejectNext: false,
  /** Answers to refreshes wait for this. */
  release: Promise.resolve(),
  refreshes: 0,
  refreshTokens: [] as string[],
};
const proxy = await serve(async (request, response) => {
  if (between.isDown) return response.destroy();
  const { method = 'GET', url, headers } = request;
  const form = method === 'POST' ? await text(request) : null;
  if (headers.authorization?.startsWith('Bearer ') && between.rejectNext) {
    between.rejectNext = false;
    return response.writeHead(401).end('{"error":"invalid_token"}');
  }
  const isRefresh = form?.startsWith('grant_type=refresh_token') ?? false;
  if (isRefresh) between.refreshes += 1;
  const answer = await fetch(`${base_url}${url}`, {
    method,
    headers: {
      authorization: headers.authorization ?? '',
      ...(form !== null && { 'content-type': 'application/x-www-form-urlencoded' }),
    },
    body: form,
  });
  if (isRefresh) await between.release;
  const body = Object(await answer.json().catch(() => ({})));
  if (body.refresh_token) between.refreshTokens.push(body.refresh_token);
  if (body.expires_in && between.expireNext) {
    between.expireNext = false;
    body.expires_in = 0;
  }
  return response.writeHead(answer.status).end(JSON.stringify(body));
});
afterAll(proxy.close);

const environment = {
  BASE: proxy.url,
  CLIENT: `${login_app.client_id}:${login_app.client_secret}`,
  GOOGLE_CLIENT_ID: 'provider_b-our-app',
  SIGN_IN_URL: `${sandbox_url}/provider_b/auth`,
};
const site = await startWebSite(environment);
afterAll(() => void site.stop());

interface Seen {
  status: number;
  location: string;
  body: string;
  cookies: string[];
}

/** A browser with cookies of its own, which takes the site for one at its origin. */
function newBrowser() {
  const jar = new Map<string, string>();
  const visit = async (path: string, init: RequestInit = {}): Promise<Seen> => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { cookie, ...init.headers };
    const answer = await fetch(`${site.address}${path.replace(origin, '')}`, {
      redirect: 'manual',
      ...init,
      headers,
    });
    const cookies = answer.headers.getSetCookie();
    for (const set of cookies) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (set.includes('Max-Age=0')) jar.delete(name);
      else jar.set(name, value);
    }
    const location = answer.headers.get('location') ?? '';
    return { status: answer.status, location, body: await answer.text(), cookies };
  };
  /** Goes to the provider, and signs in there or cancels. @returns the way back */
  const authorize = async (subject: string | undefined): Promise<string> => {
    const { location } = await visit('/login');
    const form = subject === undefined ? { cancel: 'true' } : { subject };
    const body = new URLSearchParams(form);
    const sent = await fetch(location, { method: 'POST', body, redirect: 'manual' });
    return sent.headers.get('location') ?? '';
  };
  const signIn = async (subject = unique('visitor')) => visit(await authorize(subject));
  const signOut = (from = origin) =>
    visit('/logout', { method: 'POST', headers: from === '' ? {} : { origin: from } });
  return { jar, visit, authorize, signIn, signOut };
}

const signedIn = expect.objectContaining({
  status: 200,
  body: expect.stringMatching(/Hello, visitor-/),
});
const signedOut = expect.objectContaining({ status: 200, body: expect.stringMatching(/Welcome/) });
/** A page that says something to a person. */
const told = (status: number, words: string) =>
  expect.objectContaining({ status, body: expect.stringContaining(words) });

const expired = told(400, 'This sign-in has expired, or began in another browser.');

test('somebody of whom the provider tells no name is greeted without one', async () => {
  const { visit, signIn } = newBrowser();
  const subject = unique('visitor');
  const claims = JSON.stringify({ name: '' });
  await service.credentials('provider_b', { subject, claims });
  await signIn(subject);
  expect((await visit('/')).body).toContain('<p>You are signed in.</p>');
});

test('a person signs in at the provider, sees their name, and signs out here and at the service', async () => {
  const { visit, authorize, signOut, jar } = newBrowser();
  expect(await visit('/')).toEqual(signedOut);
  const subject = unique('visitor');
  const claims = JSON.stringify({ name: '<b>Ada & Bob' });
  await service.credentials('provider_b', { subject, claims });
  const back = await authorize(subject);
  expect(new URL(back)).toMatchObject({ origin, pathname: '/callback' });
  const finished = await visit(back);
  expect(finished).toMatchObject({ status: 303, location: '/' });
  expect(finished.cookies).toEqual([
    'sign-in=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0',
    expect.stringMatching(/^session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/),
  ]);
  expect((await visit('/')).body).toContain('Hello, &#60;b&#62;Ada &#38; Bob.');

  const session = jar.get('session') ?? '';
  expect(await signOut()).toMatchObject({
    status: 303,
    location: '/',
    cookies: [expect.stringMatching(/^session=;.*Max-Age=0$/)],
  });
  expect(await visit('/')).toEqual(signedOut);
  jar.set('session', session);
  expect(await visit('/')).toEqual(signedOut);
  const refreshed = await service.refresh(between.refreshTokens.at(-1) ?? '');
  expect(refreshed).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
});

test('the provider is asked for a code, with PKCE and a state that nobody can guess', async () => {
  const { location } = await newBrowser().visit('/login');
  const { origin: at, pathname, searchParams } = new URL(location);
  expect(`${at}${pathname}`).toBe(environment.SIGN_IN_URL);
  expect(Object.fromEntries(searchParams)).toEqual({
    response_type: 'code',
    client_id: environment.GOOGLE_CLIENT_ID,
    redirect_uri: `${origin}/callback`,
    scope: 'openid profile',
    state: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  });
});

describe('a callback is refused', () => {
  test('with another state, and the sign-in goes on', async () => {
    const { visit, authorize } = newBrowser();
    const back = await authorize(unique('visitor'));
    const { searchParams } = new URL(back);
    const code = searchParams.get('code') ?? '';
    expect(await visit(`/callback?code=${code}&state=${'A'.repeat(43)}`)).toEqual(expired);
    expect(await visit(`/callback?code=${code}`)).toEqual(expired);
    expect(await visit('/callback?state=')).toEqual(expired);
    expect(await visit(back)).toMatchObject({ status: 303 });
    expect(await visit('/')).toEqual(signedIn);
  });

  test('in another browser, so that nobody is signed in as somebody else', async () => {
    const back = await newBrowser().authorize(unique('attacker'));
    const victim = newBrowser();
    expect(await victim.visit(back)).toEqual(expired);
    await victim.visit('/login');
    expect(await victim.visit(back)).toEqual(expired);
  });

  test('the second time, even to somebody who kept the cookie', async () => {
    const { visit, authorize, jar } = newBrowser();
    const back = await authorize(unique('visitor'));
    const kept = jar.get('sign-in') ?? '';
    await visit(back);
    expect(await visit(back)).toEqual(expired);
    const thief = newBrowser();
    thief.jar.set('sign-in', kept);
    expect(await thief.visit(back)).toEqual(told(400, 'This sign-in did not work'));
    expect(await thief.visit('/')).toEqual(signedOut);
  });
});

test.each(['https://evil.example', `${origin}.evil.example`, 'null', ''])(
  'a form of the origin "%s" signs nobody out',
  async (from) => {
    const { visit, signIn, signOut } = newBrowser();
    await signIn();
    expect(await signOut(from)).toEqual(told(403, 'This request came from another site.'));
    expect(await visit('/')).toEqual(signedIn);
  },
);

test('a session id that was there before the sign-in is worth nothing after it', async () => {
  const { visit, signIn, jar } = newBrowser();
  jar.set('session', 'planted-by-an-attacker');
  await signIn();
  const first = jar.get('session') ?? '';
  expect(first).not.toBe('planted-by-an-attacker');
  const firstToken = between.refreshTokens.at(-1) ?? '';
  await signIn();
  expect(await visit('/')).toEqual(signedIn);
  jar.set('session', first);
  expect(await visit('/')).toEqual(signedOut);
  expect((await service.refresh(firstToken)).status).toBe(400);
});

test('ten requests at the same time with an expired access token cause one refresh', async () => {
  const { visit, signIn } = newBrowser();
  between.expireNext = true;
  await signIn();
  const { promise, resolve } = Promise.withResolvers<void>();
  between.release = promise;
  const before = between.refreshes;
  const pages = Array.from({ length: 10 }, () => visit('/'));
  // The server has read the ten when it answers this one.
  expect(await visit('/unknown')).toEqual(told(404, 'There is no such page.'));
  resolve();
  expect(await Promise.all(pages)).toEqual(pages.map(() => signedIn));
  expect(between.refreshes).toBe(before + 1);
  expect(await visit('/')).toEqual(signedIn);
  expect(between.refreshes).toBe(before + 1);
});

test('an access token that the service no longer accepts is refreshed, and nobody notices', async () => {
  const { visit, signIn } = newBrowser();
  await signIn();
  const before = between.refreshes;
  between.rejectNext = true;
  expect(await visit('/')).toEqual(signedIn);
  expect(between.refreshes).toBe(before + 1);
});

describe('a person reads', () => {
  test('that they did not allow the sign-in', async () => {
    const { visit, authorize } = newBrowser();
    const denied = told(403, 'You did not allow the sign-in at Google, so you are not signed in.');
    expect(await visit(await authorize(undefined))).toEqual(denied);
  });

  test('that the service is down, and stays signed in', async () => {
    const { visit, signIn, authorize } = newBrowser();
    await signIn();
    between.isDown = true;
    try {
      const down = told(503, 'does not answer at the moment. Please try again in a minute.');
      expect(await visit('/')).toEqual(down);
      expect(await visit(await authorize(unique('visitor')))).toEqual(down);
    } finally {
      between.isDown = false;
    }
    expect(await visit('/')).toEqual(signedIn);
  });

  test('that their session has ended, and can sign in again', async () => {
    const { visit, signIn } = newBrowser();
    await signIn();
    await service.revoke(between.refreshTokens.at(-1) ?? '');
    expect(await visit('/')).toEqual(told(401, 'Your session has ended. Please sign in again.'));
    expect(await visit('/')).toEqual(signedOut);
    await signIn();
    expect(await visit('/')).toEqual(signedIn);
  });

  test('that they can still sign out while the service is down', async () => {
    const { visit, signIn, signOut } = newBrowser();
    await signIn();
    between.isDown = true;
    try {
      expect(await signOut()).toMatchObject({ status: 303, location: '/' });
    } finally {
      between.isDown = false;
    }
    expect(await visit('/')).toEqual(signedOut);
  });
});

test.each([
  ['redirect_uri', 'https://evil.example/callback'],
  ['client_id', 'another-app'],
  ['code_challenge_method', 'plain'],
])('the sandbox lets nobody sign in by a wrong %s', async (name, value) => {
  const url = new URL((await newBrowser().visit('/login')).location);
  url.searchParams.set(name, value);
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams({ subject: 'x' }) });
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(name)]);
});

test('with https, its cookies are Secure and of this host alone', async () => {
  const secure = await startWebSite({ ...environment, ORIGIN: 'https://www.example.com' });
  try {
    const answer = await fetch(`${secure.address}/login`, { redirect: 'manual' });
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-sign-in=[\w-]{43}\.[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/,
      ),
    ]);
    expect(answer.headers.get('location')).toContain(
      encodeURIComponent('https://www.example.com/callback'),
    );
  } finally {
    secure.stop();
  }
});

test.each([
  [{}, 'Set BASE, CLIENT and GOOGLE_CLIENT_ID.'],
  [{ ...environment, ORIGIN: 'http://www.example.com' }, 'ORIGIN must begin with https://.'],
])('a wrong set-up is named: %#', (env, why) => {
  const { status, stderr } = spawnSync(process.execPath, [webSite], { env, encoding: 'utf8' });
  expect(status).toBe(1);
  expect(stderr).toContain(why);
});
