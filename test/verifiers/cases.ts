import type { JWK } from 'jose';
import { asPhone } from '../support/phone.ts';
import { type Service, unique } from '../support/service.ts';
import type { RunningService } from '../support/start-service.ts';
import { tamperedTokens } from '../support/tokens.ts';

/**
 * A token, and whether a service that wants a Login User Token of the demo's Login App must accept
 * it.
 */
interface Case {
  name: string;
  token: string;
  accepted: boolean;
  /** The login is longer ago than the recipe for a recent login allows. */
  isStale?: boolean;
}

/**
 * Tokens of a service, as its clients get them, and what could be made of them. Its clock must be
 * movable.
 */
export async function casesOf(service: Service, running: RunningService): Promise<Case[]> {
  const logIn = async (client = service.demo.login_app): Promise<string> =>
    (await service.logIn(unique('alice'), 'provider_a', client)).body.access_token;
  const token = await logIn();
  const published: { keys: JWK[] } = (await service.call('/v2/marketing/oauth/jwks')).body;
  const rejected = (name: string, token: string): Case => ({ name, token, accepted: false });

  /** The token of a login at another time. */
  const logInAfter = async (seconds: number): Promise<string> => {
    running.advance(seconds);
    const token = await logIn();
    running.advance(-seconds);
    return token;
  };
  const expired = await logInAfter(-7200);
  const fromAhead = await logInAfter(30);
  const stale = await logInAfter(-1200);
  const { refresh_token } = (await service.logIn(unique('bob'), 'provider_a')).body;
  const refreshed = (await service.refresh(refresh_token)).body.access_token;
  const ofPhone = (await (await asPhone(service)).logIn(unique('alice'))).body.access_token;
  return [
    { name: 'a Login User Token', token, accepted: true },
    {
      name: 'a Login User Token of a service whose clock is ahead',
      token: fromAhead,
      accepted: true,
    },
    {
      name: 'a Login User Token of a login 20 minutes ago',
      token: stale,
      accepted: true,
      isStale: true,
    },
    { name: 'a Login User Token after a refresh', token: refreshed, accepted: true },
    { name: 'a Login User Token of a phone', token: ofPhone, accepted: true },
    rejected('an expired token', expired),
    rejected('a token for another Login App', await logIn(service.demo.other_login_app)),
    rejected('a Login App Token', await service.loginAppToken()),
    ...(await tamperedTokens(token, published)).map(([what, tampered]) =>
      rejected(`tampered: ${what}`, tampered),
    ),
  ];
}
