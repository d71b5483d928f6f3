import { type Service, unique } from './service.ts';

/**
 * Its settings hold an encrypted secret, and the times of its tokens don't count, however a test
 * moves the clock.
 */
const provider = 'provider_e';

/**
 * Three people who relate a device, refresh, log in, register and search, again and again. Calls go
 * to the instances in turn.
 */
export function steadyTraffic(...instances: [Service, ...Service[]]) {
  /** How often there was which status: `{'refresh 200': 12}`. Every answer counts. */
  const statuses: Record<string, number> = {};
  /** Every access token of a refresh, in the order in which they came. */
  const tokens: string[] = [];
  const refreshTokens: string[] = [];
  const rounds = [0, 0, 0];
  let going = true;
  let calls = 0;
  const [first] = instances;
  const next = (): Service => instances[calls++ % instances.length] ?? first;
  const count = (what: string, status: number) => {
    statuses[`${what} ${status}`] = (statuses[`${what} ${status}`] ?? 0) + 1;
  };
  const person = async (number: number) => {
    const device = { platform: 'android', token: unique('phone') };
    const { id } = (await next().register(device, await next().loginAppToken())).body;
    let { access_token, refresh_token } = (await next().logIn(unique('alice'), provider)).body;
    while (going) {
      count('relate', (await next().relate(id, access_token)).status);
      const refresh = await next().refresh(refresh_token);
      count('refresh', refresh.status);
      ({ access_token, refresh_token } = refresh.body);
      tokens.push(access_token);
      refreshTokens.push(refresh_token);
      count('login', (await next().logIn(unique('alice'), provider)).status);
      count('register', (await next().register(device, await next().loginAppToken())).status);
      count('search', (await next().search()).status);
      rounds[number] = (rounds[number] ?? 0) + 1;
    }
  };
  const all = Promise.all(rounds.map((_, number) => person(number)));
  // Whoever waits for the end hears of it.
  all.catch(() => {
    going = false;
  });
  return {
    statuses,
    tokens,
    refreshTokens,
    /** Waits until each of them has begun and ended a round. */
    round: async () => {
      const before = [...rounds];
      while (going && rounds.some((round, number) => round < (before[number] ?? 0) + 2))
        await first.loginAppToken();
    },
    stop: async () => {
      going = false;
      await all;
    },
  };
}

/** What the statuses are when there was no failure. */
export const noFailure = ['login 200', 'refresh 200', 'register 200', 'relate 200', 'search 200'];
