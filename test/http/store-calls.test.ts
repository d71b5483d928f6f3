import { beforeEach, describe, expect, test } from '@jest/globals';
import { newGuest } from '../support/guests.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { createAccount, createLoginApp } from '../support/login-app.ts';
import { accountOf, newPhone } from '../support/people.ts';
import { newPublicClient, newPhone as startPhone } from '../support/phone.ts';
import { newKeeper } from '../support/provider-access.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { asClient, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { hexToken } from '../support/tokens.ts';

const { running, service, proxy } = await sharedServiceWithStore();
const standIn = await startProviderStandIn();

let clockIsAhead = false;

// A record is cached for 30 s from when it was read, and on a busy machine a file takes longer. At
// another time nothing is cached, so each test begins with records that were read a moment ago.
beforeEach(async () => {
  clockIsAhead = !clockIsAhead;
  running.advance(clockIsAhead ? 30 : -30);
  await service.logIn(unique('alice'));
  await service.register({ platform: 'ios', token: hexToken() }, await service.loginAppToken());
  await service.search();
});

/**
 * Expects an action's store operations, in rounds. Each call is held until its whole round is under
 * way.
 */
async function expectRounds(
  action: () => Promise<{ status: number }>,
  status: number,
  expected: readonly (readonly string[])[],
): Promise<void> {
  const rounds: string[][] = [];
  let held: (() => void)[] = [];
  proxy.hook = ({ operation }) =>
    new Promise((resolve) => {
      if (held.length === 0) rounds.push([]);
      rounds.at(-1)?.push(operation);
      held.push(() => resolve(undefined));
      if (held.length < (expected[rounds.length - 1]?.length ?? 1)) return;
      for (const answer of held) answer();
      held = [];
    });
  expect((await action()).status).toBe(status);
  expect(rounds.map((round) => round.sort())).toEqual(expected);
}

/** A Login App that no function has read yet, with provider_f. */
const unreadLoginApp = () =>
  createLoginApp(service, unique('app'), { platforms: ['ios'], providers: ['provider_f'] });

const idTokenForm = () => service.loginForm('provider_f');

describe('token, provider_f', () => {
  test('3 small reads (the client, the Login App, the provider settings), then 2 writes', async () => {
    const app = await unreadLoginApp();
    const form = await idTokenForm();
    await expectRounds(() => service.token(form, app), 200, [
      ['GetItem'],
      ['GetItem'],
      ['GetItem'],
      ['UpdateItem'],
      ['PutItem'],
    ]);
  });

  test('0 reads when the Login App was read in the last 30 s', async () => {
    const form = await idTokenForm();
    await expectRounds(() => service.token(form), 200, [['UpdateItem'], ['PutItem']]);
    await expectRounds(() => service.token(form), 200, [['UpdateItem'], ['PutItem']]);
  });

  test('a profile, new, unchanged, changed or gone, costs no call more, nor does a provider without one', async () => {
    const subject = unique('alice');
    for (const claims of [{ name: 'Alice' }, { name: 'Alice' }, { name: 'Alice M.' }, {}]) {
      const form = await service.loginForm('provider_f', {
        subject,
        claims: JSON.stringify(claims),
      });
      await expectRounds(() => service.token(form), 200, [['UpdateItem'], ['PutItem']]);
    }
    const { app, logIn } = await newIssuerLogin(service, standIn);
    const flags = { 'login-app': app.login_app_id, provider: 'provider_f' };
    const { providers } = await service.operate('providers', 'show', flags);
    expect(JSON.stringify(providers)).not.toContain('profile');
    await logIn();
    await expectRounds(() => logIn(), 200, [['UpdateItem'], ['PutItem']]);
  });

  test('0 reads for an access token that is a JWT of a known issuer, by another provider', async () => {
    const app = await unreadLoginApp();
    const issuer = `${service.demo.sandbox_url}/provider_f`;
    await service.setProvider(app, 'provider_a', {
      audience_validation: { method: 'jwt', issuer, audiences: ['provider_f-our-app'] },
    });
    const query = { subject: unique('alice'), with_access_token: 'jwt' };
    const { access_token = '' } = await service.credentials('provider_f', query);
    const form = { grant_type: 'provider_credentials', provider: 'provider_a', access_token };
    expect((await service.token(form, app)).status).toBe(200);
    // The second login finds the person: no write of the first.
    await expectRounds(() => service.token(form, app), 200, [['UpdateItem'], ['PutItem']]);
  });

  test('a rejected credential causes none', async () => {
    const form = { ...(await idTokenForm()), id_token: 'made-up' };
    await expectRounds(() => service.token(form), 400, []);
  });
});

describe('token, provider_f, of an identity that leads elsewhere', () => {
  /**
   * How often a login causes each operation. The store in memory is asked again for the item that a
   * condition failed on.
   */
  const operationsOf = async (form: Record<string, string>): Promise<Record<string, number>> => {
    proxy.forget();
    expect((await service.token(form)).status).toBe(200);
    const calls = Map.groupBy(proxy.calls(), ({ operation }) => operation);
    return Object.fromEntries([...calls].map(([operation, { length }]) => [operation, length]));
  };
  const twice = { PutItem: 1, UpdateItem: 2 };

  test('linked: 1 write in vain, then 2 writes', async () => {
    const account = accountOf(service, (await service.logIn(unique('alice'))).body.access_token);
    const form = await idTokenForm();
    await account.link({ provider: 'provider_f', id_token: form.id_token ?? '' });
    expect(await operationsOf(form)).toMatchObject(twice);
  });

  test('of somebody who was deleted: the same and 1 read, however often it was', async () => {
    const form = await idTokenForm();
    const deleteOnce = async () =>
      accountOf(service, (await service.token(form)).body.access_token).remove();
    await deleteOnce();
    await service.token(form);
    const first = await operationsOf(form);
    for (let times = 0; times < 3; times += 1) await deleteOnce();
    await service.token(form);
    expect(await operationsOf(form)).toEqual(first);
    expect(first).toMatchObject(twice);
  });
});

describe('a phone', () => {
  test('logs in by 2 writes, and 2 that note its nonce and its proof; refreshes by 1, and 1 that notes its proof', async () => {
    const phone = await startPhone(service, await newPublicClient(service));
    await phone.logIn();
    const form = await phone.loginForm();
    const proof = await phone.proof('token');
    const notes = [['PutItem'], ['PutItem']];
    await expectRounds(() => phone.send('token', form, proof), 200, [
      ...notes,
      ['UpdateItem'],
      ['PutItem'],
    ]);
    const { refresh_token } = (await phone.logIn()).body;
    const rounds = [['PutItem'], ['BatchGetItem'], ['UpdateItem']];
    await expectRounds(() => phone.refresh(refresh_token), 200, rounds);
  });
});

describe('a guest', () => {
  const form = { grant_type: 'guest' };
  const begun = [['UpdateItem'], ['UpdateItem'], ['TransactWriteItems'], ['PutItem']];

  test('begins by 2 writes that count, 1 transaction and 1 write; 2 more note the proof and count the key of a phone', async () => {
    await expectRounds(() => service.token(form), 200, begun);
    const phone = await startPhone(service, await newPublicClient(service));
    await phone.send('token', form);
    await expectRounds(() => phone.send('token', form), 200, [
      ['PutItem'],
      ['UpdateItem'],
      ...begun,
    ]);
  });

  test('refreshes as anybody: 1 batch read, 1 write', async () => {
    const { refreshToken } = await newGuest(service);
    const rounds = [['BatchGetItem'], ['UpdateItem']];
    await expectRounds(() => service.refresh(refreshToken), 200, rounds);
  });

  test('is logged out by 1 write more than anybody', async () => {
    const operations = async (token: string) => {
      proxy.forget();
      await service.revoke(token);
      return proxy.calls().length;
    };
    const person = (await service.logIn(unique('alice'))).body.refresh_token;
    const ofPerson = await operations(person);
    expect(await operations((await newGuest(service)).refreshToken)).toBe(ofPerson + 1);
  });

  test('is refused without a call where the Login App lets in none', async () => {
    const app = service.demo.other_login_app;
    await service.token({ grant_type: 'client_credentials' }, app);
    await expectRounds(() => service.token(form, app), 400, []);
  });
});

describe('token, refresh_token', () => {
  test('1 batch read, then 1 conditional write', async () => {
    const { refresh_token } = (await service.token(await idTokenForm())).body;
    proxy.forget();
    await expectRounds(() => service.refresh(refresh_token), 200, [
      ['BatchGetItem'],
      ['UpdateItem'],
    ]);
    const [read, write] = proxy.calls();
    expect(JSON.stringify(read?.body)).toContain('"ConsistentRead":true');
    expect(write?.body).toHaveProperty('ConditionExpression', expect.stringMatching(/./));
  });

  test('of the predecessor: 1 batch read, for the same successor', async () => {
    const { refresh_token } = (await service.token(await idTokenForm())).body;
    await service.refresh(refresh_token);
    await expectRounds(() => service.refresh(refresh_token), 200, [['BatchGetItem']]);
  });

  test('a made-up refresh token causes none', async () => {
    await expectRounds(() => service.refresh('rt.made-up'), 400, []);
  });
});

describe('providers', () => {
  test('2 small reads (the client, the Login App), then 1 query; 0 reads before it within 30 s', async () => {
    const headers = asClient(await unreadLoginApp());
    const list = () => service.call('/v2/marketing/providers', { headers });
    await expectRounds(list, 200, [['GetItem'], ['GetItem'], ['Query']]);
    await expectRounds(list, 200, [['Query']]);
  });
});

describe('register', () => {
  test('1 write when the Login App was read in the last 30 s, whether the device is new or not', async () => {
    const token = await service.loginAppToken();
    const device = { platform: 'ios', token: hexToken() };
    await expectRounds(() => service.register(device, token), 201, [['UpdateItem']]);
    await expectRounds(() => service.register(device, token), 200, [['UpdateItem']]);
  });

  test('1 read, then 1 write when the cached record does not grant it', async () => {
    const app = await createLoginApp(service, unique('app'));
    const token = await service.loginAppToken(app);
    const flags = { 'login-app': app.login_app_id, platform: 'ios' };
    await service.operate('mobile-applications', 'set', flags);
    const device = { platform: 'ios', token: hexToken() };
    await expectRounds(() => service.register(device, token), 201, [['GetItem'], ['UpdateItem']]);
  });
});

describe('relate', () => {
  test('1 batch read, then 1 write; for a device that is new to the person, 1 look at their list', async () => {
    const token = (await service.token(await idTokenForm())).body.access_token;
    const id = await newPhone(service);
    const rounds = [['BatchGetItem'], ['UpdateItem']];
    await expectRounds(() => service.relate(id, token), 200, [...rounds, ['Query']]);
    await expectRounds(() => service.relate(id, token), 200, rounds);
  });
});

describe('search', () => {
  test('unfiltered, the account not read before: 3 rounds', async () => {
    const account = await createAccount(service);
    await service.operate('access-requests', 'grant', {
      'access-request': running.demo.access_request_id,
      account: account.account_id,
    });
    await expectRounds(() => service.search('', { account }), 200, [
      ['GetItem'],
      ['GetItem'],
      ['Query', 'Query'],
    ]);
    await expectRounds(() => service.search('', { account }), 200, [
      ['GetItem'],
      ['Query', 'Query'],
    ]);
  });

  const besideEachOther = [['GetItem'], ['Query', 'Query']];
  test.each([
    ['', 200, besideEachOther],
    ['?page=1000', 200, besideEachOther],
    ['?page_size=1&page=2', 200, besideEachOther],
    ['?actor_type=custom', 200, besideEachOther],
    ['?actor_id=1001&page=2', 200, besideEachOther],
    // The page counts from the end, so the total comes first.
    ['?order=desc', 200, [['GetItem'], ['Query'], ['Query']]],
    ['?ids=1,2,3,4', 200, [['GetItem'], ['BatchGetItem']]],
    ['?page=0', 400, []],
  ] as const)(
    '%s: the access, then the events, with the account cached',
    async (query, status, rounds) => {
      await service.search();
      await expectRounds(() => service.search(query), status, rounds);
    },
  );
});

describe('access requests', () => {
  const create = (body = {}) => service.createAccessRequest({ body });
  const ends = ['Query', 'Query', 'Query', 'Query'];

  test('a creation: the id, then 1 transaction', async () => {
    await create();
    const body = { reference: unique('case'), approvals_needed: 1 };
    await expectRounds(() => create(body), 201, [['UpdateItem'], ['TransactWriteItems']]);
  });

  test.each([
    [
      'that decides: also who has access',
      { approvals_needed: 1 },
      [['Query'], ['TransactWriteItems']],
    ],
    ['that counts', { approvals_needed: 2 }, [['TransactWriteItems']]],
  ])('a review %s: 2 reads, the ends of the lists, then 1 transaction', async (_, body, last) => {
    const { id } = (await create(body)).body;
    const event = { actor_type: 'custom', actor_id: 'ann', status: 'approved' };
    const add = () => service.addEvent('reviews', event, { id });
    await expectRounds(add, 201, [['GetItem'], ['GetItem'], ['Query'], ends, ...last]);
    // The same actor again does not count.
    await expectRounds(add, 201, [['GetItem'], ['GetItem'], ['Query'], ends, ['PutItem']]);
  });

  test('a review where no decision is computed, or a comment: 1 read, the ends of the lists, then 1 write', async () => {
    const { id } = (await create()).body;
    const event = { actor_type: 'custom', actor_id: 'ann', comment: '' };
    const review = () => service.addEvent('reviews', { ...event, status: 'approved' }, { id });
    await expectRounds(review, 201, [['GetItem'], ['Query'], ends, ['PutItem']]);
    const comment = () => service.addEvent('comments', event, { id });
    await expectRounds(comment, 201, [['GetItem'], ['Query'], ends.slice(1), ['PutItem']]);
  });

  test('one that is shown: the access, then itself and its last event; a pending one also its new reviews', async () => {
    const { id } = (await create({ approvals_needed: 1 })).body;
    const show = () => service.accessRequests(`/${id}`);
    await expectRounds(show, 200, [['GetItem'], ['GetItem', 'Query'], ['Query']]);
    await service.addEvent(
      'reviews',
      { actor_type: 'custom', actor_id: 'ann', status: 'approved' },
      { id },
    );
    await expectRounds(show, 200, [['GetItem'], ['GetItem', 'Query']]);
  });

  test('a search: 1 query, then 1 batch read', async () => {
    const { id } = (await create({ approvals_needed: 1 })).body;
    const approval = { actor_type: 'custom', actor_id: 'ann', status: 'approved' };
    expect((await service.addEvent('reviews', approval, { id })).status).toBe(201);
    const search = () => service.accessRequests('?decision=approved&order=oldest&page_size=1');
    await expectRounds(search, 200, [['Query'], ['BatchGetItem']]);
  });
});

// Last, since the moved clock makes what is cached look old.
describe('token, by a code of provider_b', () => {
  const login = async (settings: object) => {
    const made = await newKeeper(service, standIn, { settings });
    const subject = unique('alice');
    await made.logIn(subject);
    return { ...made, logIn: async () => (await made.logIn(subject)).answer };
  };

  test('2 writes where the settings keep no tokens, and 1 read more where they do', async () => {
    const { logIn } = await login({ keep_tokens: false });
    await expectRounds(logIn, 200, [['UpdateItem'], ['PutItem']]);
    const keeping = await login({ keep_tokens: true });
    await expectRounds(keeping.logIn, 200, [['GetItem'], ['UpdateItem'], ['PutItem']]);
  });

  test('a refresh of a session costs the same with a kept token', async () => {
    const { app, logIn } = await login({});
    const { refresh_token } = (await logIn()).body;
    const rounds = [['BatchGetItem'], ['UpdateItem']];
    await expectRounds(() => service.refresh(refresh_token, app), 200, rounds);
  });

  test('an exchange: 1 write that counts it, 3 reads in 2 rounds; 2 writes more with a refresh', async () => {
    const { logIn, exchangeFor } = await login({});
    const token = (await logIn()).body.access_token;
    await exchangeFor(token);
    const rounds = [['UpdateItem'], ['BatchGetItem'], ['GetItem', 'GetItem']];
    await expectRounds(() => exchangeFor(token), 200, rounds);
    running.advance(3550);
    proxy.forget();
    expect((await exchangeFor(token)).status).toBe(200);
    running.resetClock();
    const writes = proxy.calls().filter(({ operation }) => operation === 'UpdateItem');
    expect(writes).toHaveLength(3);
  });
});
