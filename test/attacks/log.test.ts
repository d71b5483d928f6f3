import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { logLines, writtenDuring } from '../support/log-lines.ts';
import { ownService } from '../support/own-service.ts';
import { accountOf } from '../support/people.ts';
import { unique } from '../support/service.ts';

const { running, service } = await ownService({ METRICS_NAMESPACE: 'login' });
const { call, demo, token } = service;
const tokenPath = '/v2/marketing/oauth/token';

/** A forged line, by each way to begin a new one, and what a terminal would obey. */
const payloads = {
  'CR LF': 'a\r\n{"event":"operator_command","marker":"forged"}',
  LF: 'a\n{"event":"token_issued","marker":"forged"}\n',
  'a Unicode line separator': 'a\u2028{"marker":"forged"}',
  'an ANSI sequence': '\u001b[2J\u001b[1;31mmarker',
  'a closing quote': '","level":"ERROR","marker":"forged',
  'a query of Logs Insights': '| filter 1=1 | display "marker"',
  'a look-up': `\${jndi:ldap://marker.example/a}`,
};

/** Every place of a request whose text could get into a line. */
const places: Record<string, (text: string) => Promise<unknown>> = {
  'a path': (text) => service.search('', { id: encodeURIComponent(text) }),
  'a query': (text) => service.search(`?${new URLSearchParams({ actor_id: text, [text]: text })}`),
  'a parameter of the form': (text) => token({ grant_type: text, provider: text, [text]: text }),
  'a credential': (text) =>
    token({ grant_type: 'provider_credentials', provider: 'provider_a', access_token: text }),
  'a client id': (text) =>
    token({ grant_type: 'client_credentials' }, { ...demo.login_app, client_id: text }),
  'an account id': (text) =>
    service.search('', { account: { account_id: text, account_secret: text } }),
  'a bearer token': (text) => service.listDevices(Buffer.from(text).toString('base64url')),
  'a header': (text) =>
    call(tokenPath, {
      method: 'POST',
      headers: Object.fromEntries(
        ['x-request-id', 'x-amzn-trace-id', 'x-forwarded-for', 'user-agent', 'idempotency-key'].map(
          (name) => [name, encodeURIComponent(text)],
        ),
      ),
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    }),
  'a JSON body': (text) => service.addEvent('comments', { [text]: text, actor_type: text }),
  'malformed JSON': (text) => service.addEvent('comments', `{"a":"${text}`),
};

describe('what a caller sends stands in no line of the log', () => {
  test.each(Object.entries(places))('[CWE-117] %s', async (_, send) => {
    for (const [what, text] of Object.entries(payloads)) {
      const written = await writtenDuring(running, () => send(text));
      // The local server's own line of a request has its path as it came, percent-encoded.
      const lines = written
        .split('\n')
        .filter((line) => !/^(GET|POST) \/\S* \d{3} \d+ ms/.test(line));
      const strange = lines.filter((line) => line !== '' && !isLine(line));
      const found = lines.filter((line) => line.includes('marker') || line.includes('\u001b'));
      expect({ what, strange, found }).toEqual({ what, strange: [], found: [] });
    }
  });

  const isLine = (line: string): boolean =>
    line.startsWith('{"level":"') && Boolean(JSON.parse(line).event);

  test('[CWE-117] a request id of the caller is not taken over', async () => {
    const forged = unique('request');
    const { headers } = await call(tokenPath, {
      method: 'POST',
      headers: { 'x-request-id': forged },
    });
    expect(headers.get('x-request-id')).not.toBe(forged);
  });
});

test('[CWE-532] a profile stands in no line of the log, and in no token', async () => {
  const profile = { email: 'genuine@example.com', name: 'Genuine Alice', email_verified: true };
  const query = { subject: unique('alice'), claims: JSON.stringify(profile) };
  const written = await writtenDuring(running, async () => {
    const { body } = await token(await service.loginForm('provider_f', query));
    const tokens = `${JSON.stringify(decodeJwt(body.access_token))} ${body.refresh_token}`;
    expect(tokens).not.toMatch(/genuine/i);
    const { identities } = (await accountOf(service, body.access_token).show()).body;
    expect(identities).toMatchObject([{ profile }]);
    const who = { 'login-user': decodeJwt(body.access_token).sub };
    expect(await service.operate('login-users', 'show', who)).toMatchObject({
      identities: [{ profile }],
    });
  });
  expect(written + running.audit()).not.toMatch(/genuine/i);
});

test('[CWE-532] a secret that is sent as the client id of a public client is in no line', async () => {
  const secret = unique('a-secret');
  const { login_app_id } = demo.login_app;
  const unknown = `${login_app_id}.c_${unique('').padEnd(22, 'x').slice(0, 22)}`;
  const written = await writtenDuring(running, async () => {
    for (const client_id of [secret, unknown]) await service.form(tokenPath, { client_id });
  });
  expect(written + running.audit()).not.toContain(secret);
  expect(written).toContain(unknown);
});

describe('callers cannot make the log or its metrics grow beyond measure', () => {
  test('[OWASP API4 2023] made-up callers make no metric of their own', async () => {
    await writtenDuring(running, async () => {
      for (let times = 0; times < 10; times++) {
        const client_id = `${demo.login_app.login_app_id}.c_${unique('').padEnd(22, 'x').slice(0, 22)}`;
        await token({ grant_type: 'client_credentials' }, { ...demo.login_app, client_id });
        await service.search(`?actor_id=${unique('actor')}`);
      }
    });
    const dimensions = logLines(running).flatMap(
      ({ _aws }) => JSON.stringify(_aws)?.match(/"Dimensions":(\[.*?\]\])/)?.[1] ?? [],
    );
    expect(dimensions.length).toBeGreaterThan(10);
    const names = new Set(dimensions.flatMap((text) => JSON.parse(text).flat()));
    const allowed = ['error', 'reason', 'provider', 'grant_type', 'outcome', 'platform'];
    expect([...names].filter((name) => !allowed.includes(String(name)))).toEqual([]);
  });

  test('[CWE-779] a body of 200 kB makes lines of less than 2 kB', async () => {
    const text = 'x'.repeat(200_000);
    const written = await writtenDuring(running, async () => {
      await token({ grant_type: text });
      await service.addEvent('comments', { actor_id: text });
    });
    expect(Math.max(...written.split('\n').map((line) => line.length))).toBeLessThan(2_000);
  });
});
