import { expect, test } from '@jest/globals';
import { createClient } from '../support/login-app.ts';
import { eventually, subOf } from '../support/people.ts';
import { sharedService, unique } from '../support/service.ts';
import { byId, exchangeOfId } from '../support/token-exchange.ts';

const service = sharedService();
const { demo } = service;
const sandbox = `${demo.sandbox_url}/provider_b`;

/** A server of the demo, and the exchanges of somebody who has logged in at the sandbox. */
async function newLogin(query: Record<string, string>) {
  const server = await createClient(service, demo.login_app.login_app_id, byId);
  const subject = unique('alice');
  const logIn = async () => {
    const grant = 'provider_authorization_code';
    const form = await service.loginForm('provider_b', { subject, ...query }, grant);
    return String(subOf(await service.token(form)));
  };
  const exchange = async (id: string) => service.token(exchangeOfId(id), server);
  return { subject, logIn, exchange, id: await logIn() };
}

test.each(['rotates', undefined])(
  'the sandbox plays a refresh token that %s: each exchange gets a token for the calendar',
  async (fate) => {
    const query = { lifetime: '30', ...(fate && { refresh_token: fate }) };
    const { subject, exchange, id } = await newLogin(query);
    const tokens = new Set<string>();
    for (let times = 0; times < 3; times += 1) {
      const { body } = await exchange(id);
      tokens.add(body.access_token);
      const headers = { authorization: `Bearer ${body.access_token}` };
      const events = await fetch(`${demo.sandbox_url}/calendar/v3/calendars/primary/events`, {
        headers,
      });
      expect(await events.json()).toMatchObject({
        items: [{ summary: `Breakfast with ${subject}` }],
      });
    }
    expect(tokens.size).toBe(3);
  },
);

test('the sandbox plays a refresh token that dies, and consent that is revoked: the next login helps', async () => {
  const dying = await newLogin({ lifetime: '30', refresh_token: 'dies' });
  expect((await dying.exchange(dying.id)).body.error).toBe('invalid_grant');

  const { subject, logIn, exchange, id } = await newLogin({ lifetime: '30' });
  expect((await exchange(id)).status).toBe(200);
  const revoke = `${sandbox}/consents/revoke?${new URLSearchParams({ subject })}`;
  expect((await fetch(revoke)).status).toBe(405);
  expect((await fetch(revoke, { method: 'POST' })).status).toBe(200);
  expect((await exchange(id)).body.error).toBe('invalid_grant');
  expect((await exchange(await logIn())).status).toBe(200);
});

test('the sandbox plays a provider that takes no more requests', async () => {
  const { exchange, id } = await newLogin({ lifetime: '6', refresh_token: 'throttled' });
  // Until the first access token has expired, that one still counts. It has to outlast the login.
  const answer = await eventually(
    () => exchange(id),
    ({ status }) => status !== 200,
  );
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '60']);
});
