import { createClient, createLoginApp, type LoginApp } from './login-app.ts';
import { accountOf, subOf } from './people.ts';
import { ourApp, type ProviderStandIn, type WrongAnswer } from './provider-stand-in.ts';
import { type Answer, type Service, unique } from './service.ts';
import { byToken, exchangeOfId, exchangeOfToken } from './token-exchange.ts';

/** The error for a person of whom no token of provider_b is kept. */
export const loginNeeded = {
  status: 400,
  error: 'invalid_grant',
  naming: 'The person has to log in again with provider_b.',
};

export type Grants = ReturnType<typeof newGrants>;

/**
 * The grants of a provider: each code begins one. It gives access tokens that tell how many there
 * were before, and refresh tokens that count once if it rotates them.
 */
export function newGrants({ rotates = false, lifetime = 3600 as number | undefined } = {}) {
  let made = 0;
  const valid = new Set<string>();
  const newRefreshToken = (): string => {
    const token = unique('provider-refresh');
    valid.add(token);
    state.refreshTokens.push(token);
    return token;
  };
  const state = {
    rotates,
    lifetime,
    /** The scopes that answers name from now on. */
    scope: 'calendar.readonly email' as unknown,
    /** Further members of each answer. */
    more: {} as object,
    /** The refreshes so far. */
    refreshes: 0,
    /** The refresh tokens so far, in their order. */
    refreshTokens: [] as string[],
    /** Waits before each refresh is answered. */
    beforeRefresh: async () => {},
    issue(refresh_token?: string) {
      made += 1;
      const { lifetime: expires_in, scope } = state;
      const token = { access_token: `${unique('provider-access')}-${made}`, token_type: 'Bearer' };
      return { ...token, expires_in, scope, refresh_token, ...state.more };
    },
    begin(): object {
      return state.issue(newRefreshToken());
    },
    /** Ends every grant, as when people revoke their consent. */
    end: () => valid.clear(),
    async refresh(refresh_token = ''): Promise<WrongAnswer> {
      state.refreshes += 1;
      await state.beforeRefresh();
      if (!valid.has(refresh_token)) return { status: 400, body: { error: 'invalid_grant' } };
      if (!state.rotates) return { body: state.issue() };
      valid.delete(refresh_token);
      return { body: state.issue(newRefreshToken()) };
    },
  };
  return state;
}

/** A Login App whose provider_b keeps tokens, with a server that may get them. */
export async function newKeeper(
  service: Service,
  standIn: ProviderStandIn,
  {
    grants = newGrants(),
    settings = {} as object,
    rights = byToken as object,
    name = unique('app'),
  } = {},
) {
  const scene = standIn.openScene();
  const app = await createLoginApp(service, name);
  const server = await createClient(service, app.login_app_id, rights);
  const exchange = {
    token_url: `${scene.url}/token`,
    client_id: ourApp,
    client_secret: 'our-secret',
    id_token: { issuer: scene.url },
    keep_tokens: true,
  };
  const set = (more: object = {}) =>
    service.setProvider(app, 'provider_b', {
      authorization_code: { ...exchange, ...settings, ...more },
    });
  await set();
  // A code is the subject.
  scene.answer('token', async ({ grant_type, code, refresh_token }) => {
    if (grant_type === 'refresh_token') return grants.refresh(refresh_token);
    return { body: { ...grants.begin(), id_token: await scene.idToken({ sub: code }) } };
  });
  const code = (subject: string) => ({ provider: 'provider_b', authorization_code: subject });
  const logIn = async (subject = unique('alice'), client: LoginApp = app) => {
    const grant_type = 'provider_authorization_code';
    const answer = await service.token({ grant_type, ...code(subject) }, client);
    const token = String(answer.body.access_token);
    return {
      answer,
      subject,
      token,
      loginUserId: answer.status === 200 ? String(subOf(answer)) : '',
      account: accountOf(service, token),
    };
  };
  /** Exchanges a Login User Token. */
  const exchangeFor = (
    subject_token: string,
    more: Record<string, string> = {},
    client: LoginApp = server,
  ): Promise<Answer> => service.token({ ...exchangeOfToken(subject_token), ...more }, client);
  /** Exchanges the id of a person. */
  const exchangeById = (
    login_user_id: string,
    more: Record<string, string> = {},
    client: LoginApp = server,
  ): Promise<Answer> => service.token({ ...exchangeOfId(login_user_id), ...more }, client);
  return { scene, app, server, grants, set, code, logIn, exchangeFor, exchangeById };
}
