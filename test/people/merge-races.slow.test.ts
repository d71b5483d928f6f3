import { describe, expect, test } from '@jest/globals';
import { itemsAbout } from '../support/items-about.ts';
import { merge, mergeForm, sendMerge } from '../support/merges.ts';
import {
  accountOf,
  deviceIdsOf,
  eventuallyPasses,
  newPerson,
  newPersonWithPhone,
  newPhone,
  type Person,
  subOf,
} from '../support/people.ts';
import { type Answer, unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { everyCrash, failing, isWrite, type StoreCall } from '../support/store-proxy.ts';

const started = await startServiceWithStore({}, { movableClock: true });
const { running, service, proxy } = started;

/** An identity, by its subject and provider. */
type Known = [subject: string, provider: string];

/** Two people: each has two identities and a phone. */
async function newPair() {
  const people = [await newPersonWithPhone(service), await newPersonWithPhone(service)] as const;
  const known: Known[] = [];
  for (const { subject, account } of people) {
    const linked = unique('linked');
    await account.linkAt('provider_a', linked);
    known.push([subject, 'provider_f'], [linked, 'provider_a']);
  }
  const [alice, bob] = people;
  return { alice, bob, people: [alice, bob], known };
}
type Pair = Awaited<ReturnType<typeof newPair>>;

/**
 * Logs in with every identity, twice.
 * @returns the Login Users. Whoever comes must be there, and the same each time
 */
async function ownersOf(known: Known[]): Promise<string[]> {
  const owners: string[] = [];
  for (const [subject, provider] of known) {
    const answer = await service.logIn(subject, provider);
    const id = String(subOf(answer));
    const { status, body } = await accountOf(service, answer.body.access_token).show();
    expect({ status, id: body.id }).toEqual({ status: 200, id });
    expect(subOf(await service.logIn(subject, provider))).toBe(id);
    owners.push(id);
  }
  return owners;
}

/** Lets ten minutes pass, and finishes what was interrupted. */
async function finishLater(): Promise<void> {
  running.advance(601);
  await service.runSchedule();
  running.resetClock();
}

/** Whether two people are one, with nothing of the other left but the forward. */
async function expectOne({ alice, bob, known }: Pair, kept: Person): Promise<void> {
  const gone = kept === alice ? bob : alice;
  expect(new Set(await ownersOf(known))).toEqual(new Set([kept.loginUserId]));
  await eventuallyPasses(async () => {
    await finishLater();
    const left = await itemsAbout(started, `"LOGIN_USER#${gone.loginUserId}"`);
    expect(left).toMatchObject([{ merged_into: kept.loginUserId }]);
  });
}

describe('the function dies at a write of a merge: the accounts are two, or one', () => {
  test.each(everyCrash(8))('%s write %i, keep=mine', async (fault, place) => {
    const pair = await newPair();
    const { alice, bob } = pair;
    const form = await mergeForm(service, 'mine', bob.subject);
    const send = () => sendMerge(service, alice, form);
    const { happened } = await failing(proxy, [place, fault], send, isWrite);
    if (!happened) return;
    const again = await merge(service, alice, 'mine', bob.subject);
    expect(again.status).toBe(200);
    await expectOne(pair, alice);
    const devices = await deviceIdsOf(service, await newPerson(service, alice.subject));
    expect(devices.length).toBeGreaterThanOrEqual(1);
  });

  test.each(everyCrash(8))('%s write %i, keep=theirs', async (fault, place) => {
    const pair = await newPair();
    const { alice, bob, known } = pair;
    const form = await mergeForm(service, 'theirs', bob.subject);
    const send = () => sendMerge(service, alice, form);
    await failing(proxy, [place, fault], send, isWrite);
    const again = await merge(service, alice, 'theirs', bob.subject);
    expect([200, 401]).toContain(again.status);
    expect(new Set(await ownersOf(known))).toEqual(new Set([bob.loginUserId]));
    await expectOne(pair, bob);
  });
});

/** Lets a rival act just before a write of a request, from 0. */
async function overtaken(
  place: number,
  request: () => Promise<Answer>,
  rival: () => Promise<unknown>,
) {
  let seen = 0;
  let isActing = false;
  const hook = async (call: StoreCall) => {
    if (isActing || !isWrite(call) || seen++ !== place) return undefined;
    isActing = true;
    await rival();
    return undefined;
  };
  return proxy.during(hook, request);
}

/** Alice merges with bob, while a rival acts just before a write. */
async function mergeOvertaken(
  place: number,
  { alice, bob }: Pair,
  rival: () => Promise<unknown>,
  keep = 'mine',
) {
  const form = await mergeForm(service, keep, bob.subject);
  return overtaken(place, () => sendMerge(service, alice, form), rival);
}

const places = [0, 1, 2, 3];

describe('a merge of the same two from both sides at once', () => {
  test.each([
    ['mine', 'mine'],
    ['mine', 'theirs'],
    ['theirs', 'theirs'],
  ])('%s and %s: there is one account', async (first, second) => {
    for (let round = 0; round < 4; round += 1) {
      const { alice, bob, known } = await newPair();
      const answers = await Promise.all([
        merge(service, alice, first, bob.subject),
        merge(service, bob, second, alice.subject),
      ]);
      for (const { status } of answers) expect([200, 401, 409]).toContain(status);
      expect(answers.map(({ status }) => status)).toContain(200);
      const owners = new Set(await ownersOf(known));
      expect(owners.size).toBe(1);
      expect([alice.loginUserId, bob.loginUserId]).toContain([...owners][0]);
    }
  });

  test.each(places)('the other one comes before write %i', async (place) => {
    const pair = await newPair();
    const { alice, bob, known } = pair;
    const other = await mergeForm(service, 'mine', alice.subject);
    await mergeOvertaken(place, pair, () => sendMerge(service, bob, other));
    expect(new Set(await ownersOf(known)).size).toBe(1);
  });
});

/** What somebody does meanwhile, by either of the two. */
const rivals: Record<string, (person: Person) => Promise<unknown>> = {
  'a login': ({ subject }) => service.logIn(subject),
  'a refresh': ({ refreshToken }) => service.refresh(refreshToken),
  'a link': ({ account }) => account.linkAt('provider_a', unique('meanwhile')),
  'a relation of a device': async ({ token }) => service.relate(await newPhone(service), token),
  'a logout': ({ account }) => account.endSessions(),
};

describe.each(Object.keys(rivals))('%s at the same time', (name) => {
  test.each(['mine', 'theirs'])('of either: keep=%s, and nobody is lost', async (keep) => {
    const act = rivals[name];
    for (const place of places)
      for (const which of [0, 1]) {
        const pair = await newPair();
        const { alice, bob, people, known } = pair;
        const person = people[which];
        if (!act || !person) throw new Error('Nobody acts.');
        await mergeOvertaken(place, pair, () => act(person), keep);
        const owners = new Set(await ownersOf(known));
        const ids = [alice.loginUserId, bob.loginUserId];
        for (const owner of owners) expect(ids).toContain(owner);
        await merge(service, alice, keep, bob.subject);
        expect(new Set(await ownersOf(known)).size).toBe(1);
      }
  });
});

test.each(places)(
  'a login with a linked identity waits while the accounts are merged, before write %i',
  async (place) => {
    const { alice, bob, known } = await newPair();
    const [, [linked = ''] = []] = known.filter(([, provider]) => provider === 'provider_a');
    const form = await mergeForm(service, 'mine', bob.subject);
    const login = await service.loginForm('provider_a', { subject: linked });
    const answer = await overtaken(
      place,
      () => service.token(login),
      () => sendMerge(service, alice, form),
    );
    const { status } = await merge(service, alice, 'mine', bob.subject);
    expect({ login: answer.status, status }).toEqual({ login: 200, status: 200 });
    expect(new Set(await ownersOf(known))).toEqual(new Set([alice.loginUserId]));
  },
);

describe('a deletion at the same time', () => {
  test.each(places)(
    'of either, before write %i: no identity leads to somebody who is gone',
    async (place) => {
      for (const which of [0, 1]) {
        const pair = await newPair();
        await mergeOvertaken(place, pair, async () => pair.people[which]?.account.remove());
        await finishLater();
        // This expects each owner to have an account.
        await ownersOf(pair.known);
      }
    },
  );
});

describe('an unlinking at the same time', () => {
  test.each(places)('of either, before write %i', async (place) => {
    for (const which of [0, 1]) {
      const pair = await newPair();
      const { alice, people, known } = pair;
      await mergeOvertaken(place, pair, async () => {
        const account = people[which]?.account;
        const { body } = (await account?.show()) ?? {};
        await account?.unlink(body.identities[1].id);
      });
      const owners = await ownersOf(known);
      expect(owners.filter((id) => id === alice.loginUserId).length).toBeGreaterThanOrEqual(3);
      expect(new Set(owners).size).toBeLessThanOrEqual(2);
    }
  });
});
