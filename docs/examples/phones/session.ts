/** Secure storage of the phone: texts by name. */
export interface Vault {
  get(name: string): Promise<string | null>;
  set(name: string, value: string | null): Promise<void>;
}

export interface Device {
  platform: 'ios' | 'android';
  token: string;
  token_type?: 'apns' | 'fcm' | 'fid';
  locale?: string;
  app_version?: string;
  installation_id?: string;
}

interface Tokens {
  access_token: string;
  refresh_token: string;
  /** Milliseconds since 1970, by the clock of this phone. */
  expires_at: number;
}

export interface TokenAnswer extends Omit<Tokens, 'expires_at'> {
  expires_in: number;
}

interface Merged {
  /** The account that is kept. */
  id: string;
  /** The guest who is gone. */
  merged_from?: string;
  refresh_token?: string;
}

/** Whom the app asks for tokens: your backend or, without one, the service itself (public-client.ts). */
export interface TokenSource {
  nonce(): Promise<string>;
  logIn(credential: Record<string, string>): Promise<TokenAnswer>;
  /** Tokens of a new guest. */
  guest(): Promise<TokenAnswer>;
  /** The header `DPoP` of a request of a guest; absent with a backend, whose sessions are bound to no key. */
  proof?(method: string, url: string): Promise<string>;
  refresh(refresh_token: string): Promise<TokenAnswer>;
  logOut(refresh_token: string): Promise<unknown>;
  /** A Login App Token, with which devices register. */
  appToken(): Promise<string>;
}

/** An answer that is no success. Its code is the `error` of the service, such as `invalid_token`. */
export class ServiceError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
  ) {
    super(`${status} ${code}`);
  }
}

/** Nobody is logged in, or the session is over: show the login. */
export class LoggedOut extends Error {}

/** Somebody has logged in with another account than the one that was to be deleted. */
export class AnotherAccount extends Error {}

const early = 60_000;
const patience = 30_000;

/**
 * Sends an object as JSON, or a text as a form.
 * @param hear gets the headers of each answer, whatever its status
 */
export async function send<T>(
  method: string,
  url: string,
  body?: object | string,
  more?: object,
  hear: (headers: Headers) => void = () => {},
): Promise<T> {
  const isForm = typeof body === 'string';
  const headers = { 'content-type': `application/${isForm ? 'x-www-form-urlencoded' : 'json'}`, ...more };
  const abort = new AbortController(); // On Android, fetch alone waits for ever.
  const timer = setTimeout(() => abort.abort(), patience);
  try {
    const sent = isForm ? body : body && JSON.stringify(body);
    const response = await fetch(url, { method, headers, body: sent, signal: abort.signal });
    hear(response.headers);
    const answer = await response.json().catch(() => ({})); // A 204 has no body, and a proxy may send a page.
    if (!response.ok) throw new ServiceError(response.status, answer.error ?? 'unknown');
    return answer;
  } finally {
    clearTimeout(timer);
  }
}

// The URLSearchParams of React Native is not complete.
export const formOf = (fields: Record<string, string>): string =>
  Object.entries(fields)
    .map((entry) => entry.map(encodeURIComponent).join('='))
    .join('&');

const user = '/v2/marketing/login/user';
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Your backend at an address: backend.mjs or the like. */
export const backendAt = (address: string): TokenSource => ({
  nonce: async () => (await send<{ nonce: string }>('POST', `${address}/nonce`)).nonce,
  logIn: (credential) => send('POST', `${address}/login`, credential),
  guest: () => send('POST', `${address}/guest`),
  refresh: (refresh_token) => send('POST', `${address}/refresh`, { refresh_token }),
  logOut: (refresh_token) => send('POST', `${address}/logout`, { refresh_token }),
  appToken: async () => (await send<{ access_token: string }>('POST', `${address}/app-token`)).access_token,
});

/** The login of one person. Make one for the whole app. */
export class Session {
  private last: Promise<unknown> = Promise.resolve();

  /** @param service the address of the login service */
  constructor(
    private readonly source: TokenSource,
    private readonly service: string,
    private readonly vault: Vault,
  ) {}

  /** A nonce for one login. */
  nonce(): Promise<string> {
    return this.source.nonce();
  }

  /** Begins as a guest, unless somebody is logged in, or a guest is there. Call it when there is something to keep. */
  beginAsGuest(): Promise<void> {
    return this.inTurn(async () => {
      if (!(await this.kept())) await this.keep(await this.source.guest());
    });
  }

  /**
   * Makes the guest a person, who has the same account from now on.
   * @throws ServiceError `conflict` if the person has an account already: ask whether to `mergeGuest` into it
   */
  async linkGuest(id_token: string, nonce: string, code = '', name = ''): Promise<void> {
    const credential = { provider: 'provider_f', id_token, nonce, authorization_code: code, user: name };
    const { token } = await this.sendAsGuest('POST', `${user}/identities`, formOf(credential));
    await this.accessToken(token); // The next one has no mark of a guest.
  }

  /**
   * Merges the guest into the account that the person has, whom the phone is logged in as from then on. They sign in
   * again for it. @returns both ids, so that your servers can move what they have stored of the guest
   */
  async mergeGuest(id_token: string, nonce: string): Promise<Merged> {
    const credential = { keep: 'theirs', provider: 'provider_f', id_token, nonce };
    const { answer } = await this.sendAsGuest<Merged>('POST', `${user}/merge`, formOf(credential));
    const { id, merged_from, refresh_token } = answer;
    if (refresh_token) await this.inTurn(() => this.keep({ access_token: '', refresh_token, expires_in: 0 }));
    await this.accessToken(); // The first one of that account.
    return { id, merged_from };
  }

  /** Logs in. Apple gives a code with each id token, and at the first login the person's name. */
  logIn(id_token: string, nonce: string, code = '', user = ''): Promise<void> {
    const credential = { id_token, nonce, authorization_code: code, user };
    return this.inTurn(async () => {
      await this.keep(await this.source.logIn(credential));
    });
  }

  /** Ends the session, and forgets it even if the phone is offline. */
  logOut(): Promise<void> {
    return this.inTurn(async () => {
      const tokens = await this.kept();
      await this.vault.set('tokens', null);
      if (tokens) await this.source.logOut(tokens.refresh_token);
    });
  }

  /** A valid access token, for your own endpoints too. @param rejected one that got a 401 */
  accessToken(rejected?: string): Promise<string> {
    return this.inTurn(async () => {
      const tokens = await this.kept();
      if (!tokens) throw new LoggedOut();
      const isFresh = tokens.expires_at - Date.now() > early && tokens.access_token !== rejected;
      return isFresh ? tokens.access_token : this.refresh(tokens.refresh_token);
    });
  }

  /** A request to the login service as the person. @throws ServiceError, LoggedOut */
  async call<T = unknown>(method: string, path: string, body?: object): Promise<T> {
    const token = await this.accessToken();
    try {
      return await send<T>(method, this.service + path, body, bearer(token));
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'invalid_token')) throw error;
      return send<T>(method, this.service + path, body, bearer(await this.accessToken(token)));
    }
  }

  /** Registers this phone and relates it to the person. */
  async registerDevice(device: Device): Promise<void> {
    const app = bearer(await this.source.appToken());
    const devices = `${this.service}/v2/marketing/push_notifications/devices`;
    const { id } = await send<{ id: string }>('POST', devices, { device }, app);
    await this.call('POST', `${user}/push_notifications/devices`, { device_id: id });
  }

  /** Deletes the account. The service wants a login of the last 15 minutes for that. */
  async deleteAccount(logInAgain: () => Promise<unknown>): Promise<void> {
    const account = () => this.call<{ id: string; guest?: true }>('GET', user);
    const { id, guest } = await account();
    if (guest) return void (await this.sendAsGuest('DELETE', user));
    try {
      await this.call('DELETE', user);
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'insufficient_user_authentication')) throw error;
      await logInAgain();
      if ((await account()).id !== id) throw new AnotherAccount();
      await this.call('DELETE', user);
    }
  }

  /**
   * Sends what a person does after a recent login: with an access token that has just been issued, and a proof of the
   * phone's key, for which the refresh has brought the nonce. @returns the token, and the answer
   */
  private async sendAsGuest<T>(method: string, path: string, form?: string): Promise<{ token: string; answer: T }> {
    const token = await this.accessToken(await this.accessToken());
    const dpop = await this.source.proof?.(method, this.service + path);
    const answer = await send<T>(method, this.service + path, form, { ...bearer(token), ...(dpop && { dpop }) });
    return { token, answer };
  }

  /** If the answer gets lost, the next call sends the same refresh token, and gets the same successor. */
  private async refresh(refresh_token: string): Promise<string> {
    try {
      return await this.keep(await this.source.refresh(refresh_token));
    } catch (error) {
      // The session has ended, or this phone no longer has the key that it is bound to.
      const isOver = error instanceof ServiceError && /^(invalid_grant|invalid_dpop_proof)$/.test(error.code);
      if (!isOver) throw error;
      await this.vault.set('tokens', null);
      throw new LoggedOut();
    }
  }

  /** Stores the tokens before anybody uses them. */
  private async keep(answer: TokenAnswer): Promise<string> {
    const { access_token, refresh_token, expires_in } = answer;
    const tokens: Tokens = { access_token, refresh_token, expires_at: Date.now() + expires_in * 1000 };
    await this.vault.set('tokens', JSON.stringify(tokens));
    return access_token;
  }

  private async kept(): Promise<Tokens | null> {
    return JSON.parse((await this.vault.get('tokens')) ?? 'null');
  }

  /** Runs what reads and writes the tokens one after the other. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.last.then(work);
    this.last = result.catch(() => {});
    return result;
  }
}
