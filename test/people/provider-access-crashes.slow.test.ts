import { expect, test } from '@jest/globals';
import { sendMerge } from '../support/merges.ts';
import { identityIdsOf } from '../support/people.ts';
import { newKeeper } from '../support/provider-access.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { failing, isWrite } from '../support/store-proxy.ts';
import { byId } from '../support/token-exchange.ts';

const { running, service, proxy } = await sharedServiceWithStore();
const standIn = await startProviderStandIn();

/** A Login App that keeps tokens, with two people; the second has logged in by `subject`. */
async function newPeople() {
  const keeper = await newKeeper(service, standIn, { rights: byId });
  const { logIn, set, scene } = keeper;
  await set({ revocation_url: `${scene.url}/revoke` });
  const [alice, bob] = [await logIn(unique('alice')), await logIn(unique('bob'))];
  return { ...keeper, alice, bob };
}
type People = Awaited<ReturnType<typeof newPeople>>;

/** A request by code: what it does, and the subject of the code. */
interface Flow {
  request: () => Promise<unknown>;
  subject: string;
}

const flows: [string, (people: People) => Flow][] = [
  [
    'a first login',
    ({ logIn }) => {
      const subject = unique('new');
      return { subject, request: () => logIn(subject) };
    },
  ],
  [
    'a later login',
    ({ logIn, alice }) => ({ subject: alice.subject, request: () => logIn(alice.subject) }),
  ],
  [
    'a link',
    ({ alice, code }) => {
      const subject = unique('linked');
      return { subject, request: () => alice.account.link(code(subject)) };
    },
  ],
  [
    'a link of what is theirs already',
    ({ alice, code }) => ({
      subject: alice.subject,
      request: () => alice.account.link(code(alice.subject)),
    }),
  ],
  ...['mine', 'theirs'].map((keep): [string, (people: People) => Flow] => [
    `a merge, keep=${keep}`,
    ({ alice, bob, code }) => ({
      subject: bob.subject,
      request: () => sendMerge(service, alice, { keep, ...code(bob.subject) }),
    }),
  ]),
];

/** Expects that servers get a token for each identity of the person whom a code logs in. */
async function expectAccess({ logIn, exchangeById }: People, subject: string): Promise<void> {
  const { account, loginUserId } = await logIn(subject);
  for (const identity_id of identityIdsOf(await account.show()))
    expect((await exchangeById(loginUserId, { identity_id })).status).toBe(200);
}

/** Expects that everybody can be deleted, and that no refresh token is valid then. */
async function expectNothingIsLeft(people: People, subjects: string[]): Promise<void> {
  running.advance(601);
  await service.operate('login-users', 'finish-deletions', {});
  for (const subject of new Set(subjects)) {
    const { account } = await people.logIn(subject);
    expect((await account.remove()).status).toBe(204);
  }
  running.resetClock();
  const revoked = people.scene.forms('revoke').map(({ token }) => token);
  expect(new Set(revoked)).toEqual(new Set(people.grants.refreshTokens));
}

test.each(flows)(
  '%s by code that dies at any write keeps a token that servers get, and leaves none that is never revoked',
  async (_, newFlow) => {
    for (const fault of ['fails before', 'fails after'] as const) {
      let hasHappened = true;
      for (let place = 0; hasHappened; place += 1) {
        const people = await newPeople();
        const { request, subject } = newFlow(people);
        ({ happened: hasHappened } = await failing(proxy, [place, fault], request, isWrite));
        await request();
        await expectAccess(people, subject);
        const { alice, bob } = people;
        await expectNothingIsLeft(people, [subject, alice.subject, bob.subject]);
      }
    }
  },
);
