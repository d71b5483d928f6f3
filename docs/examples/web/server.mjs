// A web site where people sign in with Google. It needs Node 20 or newer, and no packages.
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';

const {
  BASE, // the address of the login service
  CLIENT, // client_id:client_secret of the Login App
  GOOGLE_CLIENT_ID,
  PORT = '8080',
  ORIGIN = 'http://localhost:8080', // the address of this site, as a browser shows it
  SIGN_IN_URL = 'https://accounts.google.com/o/oauth2/v2/auth',
} = process.env;
if (!BASE || !CLIENT || !GOOGLE_CLIENT_ID) throw new Error('Set BASE, CLIENT and GOOGLE_CLIENT_ID.');
const isSecure = ORIGIN.startsWith('https://');
if (!isSecure && new URL(ORIGIN).hostname !== 'localhost') throw new Error('ORIGIN must begin with https://.');
const redirect_uri = `${ORIGIN}/callback`;

/** The sessions by id, each with its tokens. With several servers, keep them in a database. */
const sessions = new Map();

/** An error in words for the person. Its code is that of the service, if it is the service's. */
class Problem extends Error {
  constructor(status, message, code) {
    super(message);
    Object.assign(this, { status, code });
  }
}

const routes = {
  'GET /': showHome,
  'GET /login': startSignIn,
  'GET /callback': finishSignIn,
  'POST /logout': signOut,
};

async function showHome(request, response) {
  const session = sessionOf(request);
  if (!session) return sendPage(response, 200, 'Welcome.', '<a href="/login">Sign in with Google</a>');
  const account = await getAsPerson(session, '/v2/marketing/login/user');
  const name = account.identities[0].profile?.name;
  const greeting = name === undefined ? 'You are signed in.' : `Hello, ${name}.`;
  sendPage(response, 200, greeting, '<form method="post" action="/logout"><button>Sign out</button></form>');
}

function startSignIn(request, response) {
  const [state, verifier] = [randomText(), randomText()];
  const url = new URL(SIGN_IN_URL);
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: GOOGLE_CLIENT_ID,
    redirect_uri,
    scope: 'openid profile',
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  // Only the browser with this cookie can finish the sign-in, within ten minutes.
  setCookie(response, 'sign-in', `${state}.${verifier}`, 600);
  redirect(response, url.href);
}

async function finishSignIn(request, response, query) {
  const [state, verifier] = cookieOf(request, 'sign-in').split('.');
  if (!state || query.get('state') !== state)
    throw new Problem(400, 'This sign-in has expired, or began in another browser. Please sign in again.');
  setCookie(response, 'sign-in', '', 0);
  if (query.get('error') === 'access_denied')
    throw new Problem(403, 'You did not allow the sign-in at Google, so you are not signed in.');
  const code = query.get('code');
  if (!code) throw new Problem(502, 'Google could not sign you in. Please try again.');

  const tokens = await postAsClient('token', {
    grant_type: 'provider_authorization_code',
    provider: 'provider_b',
    authorization_code: code,
    code_verifier: verifier,
    redirect_uri,
  });
  await endSession(sessionOf(request));
  // Each sign-in gets an id of its own, so that nobody can know it beforehand (session fixation).
  const session = { id: randomText() };
  storeTokens(session, tokens);
  sessions.set(session.id, session);
  setCookie(response, 'session', session.id);
  redirect(response, '/');
}

async function signOut(request, response) {
  await endSession(sessionOf(request));
  setCookie(response, 'session', '', 0);
  redirect(response, '/');
}

/** Ends a session at the service, and forgets it even if the service doesn't answer. */
async function endSession(session) {
  if (!session) return;
  sessions.delete(session.id);
  await postAsClient('revoke', { token: session.refresh_token }).catch(console.error);
}

function storeTokens(session, { access_token, refresh_token, expires_in, refresh_token_expires_in }) {
  const inSeconds = (seconds) => Date.now() + seconds * 1000;
  Object.assign(session, { access_token, refresh_token });
  session.refreshAt = inSeconds(expires_in - 60);
  session.endsAt = inSeconds(refresh_token_expires_in);
}

function sessionOf(request) {
  for (const { id, endsAt } of sessions.values()) if (endsAt < Date.now()) sessions.delete(id);
  return sessions.get(cookieOf(request, 'session'));
}

/** A valid access token. @param rejected one that got a 401 */
async function accessToken(session, rejected) {
  const isFresh = Date.now() < session.refreshAt && session.access_token !== rejected;
  if (!isFresh) {
    // Requests that come at the same time wait for one refresh.
    session.refreshing ??= refresh(session).finally(() => delete session.refreshing);
    await session.refreshing;
  }
  return session.access_token;
}

/** If the answer gets lost, the next call sends the same refresh token, and gets the same successor. */
async function refresh(session) {
  storeTokens(session, await postAsClient('token', { grant_type: 'refresh_token', refresh_token: session.refresh_token }));
}

/** Gets something from the service as the person. Your own API takes the same access tokens. */
async function getAsPerson(session, path) {
  const get = (token) => callService(path, { headers: { authorization: `Bearer ${token}` } });
  try {
    const token = await accessToken(session);
    return await get(token).catch(async (error) => {
      if (error.code !== 'invalid_token') throw error;
      return get(await accessToken(session, token));
    });
  } catch (error) {
    if (error.code !== 'invalid_grant' && error.code !== 'invalid_token') throw error;
    sessions.delete(session.id);
    throw new Problem(401, 'Your session has ended. Please sign in again.');
  }
}

function postAsClient(endpoint, form) {
  const headers = { authorization: `Basic ${Buffer.from(CLIENT).toString('base64')}` };
  return callService(`/v2/marketing/oauth/${endpoint}`, { method: 'POST', headers, body: new URLSearchParams(form) });
}

/** The answer of the service. @throws Problem */
async function callService(path, init) {
  const answer = await fetch(`${BASE}${path}`, { ...init, signal: AbortSignal.timeout(20_000) }).catch(console.error);
  const body = await answer?.json().catch(() => ({}));
  if (answer?.ok) return body;
  console.error(path, answer?.status, body?.error, answer?.headers.get('x-request-id')); // for you; the person sees:
  if (body?.error === 'invalid_grant')
    throw new Problem(400, 'This sign-in did not work: it took too long, or the account can’t be used here.', body.error);
  if (body?.error === 'unauthorized_client') throw new Problem(403, 'This account can’t be used at the moment.', body.error);
  throw new Problem(503, 'The sign-in service does not answer at the moment. Please try again in a minute.', body?.error);
}

const randomText = () => randomBytes(32).toString('base64url');

// With this prefix, browsers accept a cookie only from this very host, by https.
const cookieName = (name) => (isSecure ? `__Host-${name}` : name);

/** @param seconds without it, the cookie lasts until the browser is closed */
function setCookie(response, name, value, seconds) {
  const age = seconds === undefined ? '' : `; Max-Age=${seconds}`;
  const secure = isSecure ? '; Secure' : '';
  response.appendHeader('set-cookie', `${cookieName(name)}=${value}; Path=/; HttpOnly; SameSite=Lax${age}${secure}`);
}

function cookieOf({ headers: { cookie = '' } }, name) {
  const start = `${cookieName(name)}=`;
  const found = cookie.split('; ').find((one) => one.startsWith(start));
  return found?.slice(start.length) ?? '';
}

const redirect = (response, location) => response.writeHead(303, { location }).end();

const escaped = (text) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** @param html what stands below the text; the text is escaped */
function sendPage(response, status, text, html) {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    'x-content-type-options': 'nosniff',
  });
  response.end(`<!doctype html><html lang="en"><title>Example</title>
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<p>${escaped(text)}</p>${html}</html>`);
}

const server = createServer(async (request, response) => {
  response.setHeader('cache-control', 'no-store');
  try {
    const [path, query] = request.url.split('?');
    const answer = routes[`${request.method} ${path}`];
    if (!answer) throw new Problem(404, 'There is no such page.');
    // Browsers say which site a form comes from. Any other site is refused (CSRF).
    if (request.method === 'POST' && request.headers.origin !== ORIGIN)
      throw new Problem(403, 'This request came from another site. Please go back and try again.');
    await answer(request, response, new URLSearchParams(query));
  } catch (error) {
    if (!(error instanceof Problem)) console.error(error);
    const { status, message } = error instanceof Problem ? error : new Problem(500, 'Something went wrong. Please try again.');
    sendPage(response, status, message, '<a href="/">Back</a>');
  }
});
server.listen(Number(PORT), () => console.log(`Listening on port ${server.address().port}`));
