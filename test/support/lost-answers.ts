import { beforeAll, expect } from '@jest/globals';
import { createAccount, createLoginApp, demoSettings } from './login-app.ts';
import { newPerson, newPhone } from './people.ts';
import { unique } from './service.ts';
import { startServiceWithStore } from './store-and-service.ts';
import type { LostAnswer } from './store-proxy.ts';

/** Makes what a request needs, all of it new; returns the request. */
export type Scenario = () => Promise<() => Promise<unknown>>;

/**
 * A service whose store loses an answer, or stalls if `LOST_ANSWERS` is `answer stalls`: the SDK
 * sends the call again.
 */
export async function serviceThatLosesAnswers() {
  const fault: LostAnswer =
    process.env.LOST_ANSWERS === 'answer stalls' ? 'answer stalls' : 'answer lost';
  const own = await startServiceWithStore(
    fault === 'answer stalls' ? { AWS_CALL_MILLISECONDS: '500' } : {},
  );
  const { service, proxy } = own;
  const { operate } = service;

  let settings: unknown;
  beforeAll(async () => {
    // The issuer's keys and the public signing keys are read once; no scenario begins with that.
    await service.relate('unknown', (await newPerson(service)).token);
    settings = await demoSettings(service, 'provider_f');
  });

  const newAccount = () => createAccount(service);
  /** A Login App with a client, for both platforms and provider_f; nothing has used it yet. */
  const newApp = async () => {
    const app = await createLoginApp(service, 'Test', { platforms: ['android'] });
    await service.setProvider(app, 'provider_f', settings);
    return app;
  };
  const newAccessRequest = async () => {
    const account = await newAccount();
    const { access_request_id: id } = await operate('access-requests', 'create', {
      account: account.account_id,
    });
    return { account, id: Number(id) };
  };
  const newOwner = async () => {
    const app = await newApp();
    const person = await newPerson(service, unique('alice'), app);
    const phone = await newPhone(service, await service.loginAppToken(app));
    await service.relate(phone, person.token);
    return { app, person, phone };
  };

  /** Sends a request, and loses the answer to one call of the store, such as `UpdateItem 1`. */
  async function send(request: () => Promise<unknown>, lost?: string) {
    const calls: string[] = [];
    const counts = new Map<string, number>();
    proxy.hook = ({ operation }) => {
      const number = (counts.get(operation) ?? 0) + 1;
      counts.set(operation, number);
      const call = `${operation} ${number}`;
      calls.push(call);
      return call === lost ? fault : undefined;
    };
    try {
      const answer = withoutRandomness(
        await request().catch((error) => ({ error: String(error) })),
      );
      return { calls, answer };
    } finally {
      proxy.hook = () => undefined;
    }
  }

  /**
   * Expects the same answer whichever store answer is lost: the first and last write's of a run,
   * and a read's at the start.
   */
  async function expectTheSame(scenario: Scenario): Promise<void> {
    const { calls, answer } = await send(await scenario());
    expect(calls).not.toEqual([]);
    expect(answer).not.toHaveProperty('error');
    expect(answer).not.toHaveProperty('status', 500);
    const operations = calls.map((call) => call.split(' ')[0]);
    const isRead = (at: number) => /^(Get|BatchGet|Query)/.test(operations[at] ?? '');
    const ends = calls.filter(
      (_, at) =>
        at === 0 ||
        (!isRead(at) &&
          (operations[at] !== operations[at - 1] || operations[at] !== operations[at + 1])),
    );
    for (const lost of ends) {
      const again = await send(await scenario(), lost);
      expect({ lost, answer: again.answer }).toEqual({ lost, answer });
      expect(again.calls).toContain(lost);
      expect(again.calls.length).toBeGreaterThan(calls.length);
    }
  }

  return { ...own, newAccount, newApp, newAccessRequest, newOwner, expectTheSame };
}

/**
 * What differs each time, replaced by what it is: ids, secrets, tokens, times, and the numbers of
 * access requests.
 */
function withoutRandomness(value: unknown): unknown {
  // The text of an HTTP answer is its body once more.
  const text = JSON.stringify(value, (name, part) => (name === 'text' ? undefined : part))
    .replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"TIME"')
    .replaceAll(/"subject":"[^"]*"/g, '"subject":"SUBJECT"')
    .replaceAll(/"ey[\w-]+\.[\w-]+\.[\w-]+"/g, '"JWT"')
    .replaceAll(/"phone-[\d-]+"/g, '"PUSH_TOKEN"')
    .replaceAll(/"ln\.[\w.-]+"/g, '"NONCE"')
    .replaceAll(/"rt\.[\w.-]+"/g, '"REFRESH_TOKEN"')
    .replaceAll(/\b([a-z]{1,3})_[\w-]{43}(?![\w-])/g, '$1_…')
    .replaceAll(/\b([a-z]{1,3})_[\w-]{22}(?![\w-])/g, '$1_…')
    .replaceAll(
      /"(access_request_id|started_at|expires_at|refresh_token_expires_in|sessions_valid_from)":\d+/g,
      '"$1":0',
    )
    .replaceAll(/"id":\d+(?=,"(reference|approvals_needed|decision)":)/g, '"id":0');
  return JSON.parse(text);
}
