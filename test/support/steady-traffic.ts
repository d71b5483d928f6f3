import { type Service, unique } from './service.ts';

/** Three people who log in, then relate a device and refresh, again and again, until they are stopped. */
export function steadyTraffic(service: Service) {
  /** How often there was which status: `{'refresh 200': 12}`. Every answer counts. */
  const statuses: Record<string, number> = {};
  /** Every access token of a refresh, in the order in which they came. */
  const tokens: string[] = [];
  const rounds = [0, 0, 0];
  let going = true;
  const count = (what: string, status: number) => {
    statuses[`${what} ${status}`] = (statuses[`${what} ${status}`] ?? 0) + 1;
  };
  const person = async (number: number, appToken: string) => {
    const { id } = (await service.register({ platform: 'android', token: unique('phone') }, appToken)).body;
    const login = await service.logIn(unique('alice'), 'provider_d');
    count('login', login.status);
    let { access_token, refresh_token } = login.body;
    while (going) {
      count('relate', (await service.relate(id, access_token)).status);
      const refresh = await service.token({ grant_type: 'refresh_token', refresh_token });
      count('refresh', refresh.status);
      ({ access_token, refresh_token } = refresh.body);
      tokens.push(access_token);
      rounds[number] = (rounds[number] ?? 0) + 1;
    }
  };
  const all = service
    .loginAppToken()
    .then((token) => Promise.all(rounds.map((_, number) => person(number, token))));
  return {
    statuses,
    tokens,
    /** Waits until each of them has begun and ended a round. */
    round: async () => {
      const before = [...rounds];
      while (rounds.some((round, number) => round < (before[number] ?? 0) + 2)) await service.loginAppToken();
    },
    stop: async () => {
      going = false;
      await all;
    },
  };
}
