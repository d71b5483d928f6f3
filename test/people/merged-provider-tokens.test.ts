import { afterEach, describe, expect, test } from '@jest/globals';
import { expectError } from '../support/expectations.ts';
import { sendMerge } from '../support/merges.ts';
import { identityIdsOf } from '../support/people.ts';
import { newGrants, newKeeper } from '../support/provider-access.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import type { StoreCall } from '../support/store-proxy.ts';

const { running, service, proxy } = await sharedServiceWithStore();
const standIn = await startProviderStandIn();
afterEach(() => running.resetClock());

describe('the tokens of a provider that are kept for servers', () => {
  /** Two people, of whom the second has two identities. The merge proves the latter. */
  const twoPeople = async () => {
    const grants = newGrants({ rotates: true, lifetime: 1 });
    const keeper = await newKeeper(service, standIn, { grants });
    const [one, two] = [await keeper.logIn(), await keeper.logIn()];
    const linked = unique('linked');
    expect((await two.account.link(keeper.code(linked))).status).toBe(201);
    const [first = ''] = identityIdsOf(await two.account.show());
    const mergeTwo = () => sendMerge(service, one, { keep: 'mine', ...keeper.code(linked) });
    /** The statuses of exchanges of all tokens that one has. */
    const exchangeAll = async () => {
      const ids = identityIdsOf(await one.account.show());
      const answers = ids.map((identity_id) => keeper.exchangeFor(one.token, { identity_id }));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    return { ...keeper, one, two, first, mergeTwo, exchangeAll };
  };

  test('come with the identities: a server goes on with them', async () => {
    const { mergeTwo, exchangeAll } = await twoPeople();
    expect((await mergeTwo()).status).toBe(200);
    running.advance(5);
    expect(await exchangeAll()).toEqual([200, 200, 200]);
  });

  test('a refresh that is under way is waited for', async () => {
    const { two, first, mergeTwo, grants, exchangeFor, exchangeAll } = await twoPeople();
    let goOn = () => {};
    const waiting = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const started = new Promise<void>((resolve) => {
      grants.beforeRefresh = () => {
        resolve();
        return waiting;
      };
    });
    running.advance(5);
    const exchange = exchangeFor(two.token, { identity_id: first });
    await started;
    const merging = mergeTwo();
    goOn();
    expect((await exchange).status).toBe(200);
    expect((await merging).status).toBe(200);
    grants.beforeRefresh = async () => {};
    running.advance(10);
    expect(await exchangeAll()).toEqual([200, 200, 200]);
  });
  test('a refresh that does not end: 503 that says so, and both accounts stay', async () => {
    const { one, two, first, mergeTwo, exchangeFor } = await twoPeople();
    // The function dies when the turn is its own, which ends in the distant future.
    running.advance(1000);
    const takesTurn = ({ operation, body }: StoreCall): boolean =>
      operation === 'UpdateItem' && JSON.stringify(body).includes('refresh_until_of_');
    const exchange = await proxy.during(
      (call) => (takesTurn(call) ? 'fails after' : undefined),
      () => exchangeFor(two.token, { identity_id: first }),
    );
    expect(exchange.status).toBe(500);
    running.resetClock();
    expectError(await mergeTwo(), {
      status: 503,
      error: 'temporarily_unavailable',
      naming: /A server gets a token of a provider just now.*: send the request again/,
    });
    expect(identityIdsOf(await one.account.show())).toHaveLength(1);
    expect(identityIdsOf(await two.account.show())).toHaveLength(2);
  });
});
