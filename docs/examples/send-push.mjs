import { createPrivateKey, sign } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { setTimeout as wait } from 'node:timers/promises';

const { BASE, CLIENT_ID, CLIENT_SECRET, GOOGLE_FILE, APNS_FILE, APNS_KEY_ID, APNS_TEAM_ID, APNS_TOPIC } = process.env;
const { FCM = 'https://fcm.googleapis.com', APNS = 'https://api.push.apple.com' } = process.env;
const { APNS_SANDBOX = 'https://api.sandbox.push.apple.com' } = process.env;

const notification = { title: 'Hello', body: 'Something is new.' };
const attempts = 6;
const count = { sent: 0, dead: 0, failed: 0, skipped: 0 };
const now = () => Math.floor(Date.now() / 1000);
const mayRepeat = (status) => status === 429 || status >= 500;
const pause = (attempt, retryAfter) => wait(1000 * (Number(retryAfter) || 10 * 2 ** attempt));

/** An answer that doesn't change if the worker asks again, such as that to a wrong secret: the worker stops. */
class Refused extends Error {}

/** The response to a request, which is repeated while the server is busy. */
async function request(what, url, options) {
  for (let attempt = 0; attempt < attempts; attempt++) {
    let problem;
    const response = await fetch(url, options).catch(({ message, cause }) => {
      problem = `${what}: ${message} (${cause?.message})`;
    });
    if (response?.ok) return response;
    if (response) problem = `${what}: ${response.status} ${await response.text()}`;
    if (response && !mayRepeat(response.status)) throw new Refused(problem);
    console.error(problem);
    if (attempt < attempts - 1) await pause(attempt, response?.headers.get('retry-after'));
  }
  throw new Refused(`${what}: no answer after ${attempts} attempts`);
}

/** A request to the login service. */
function service(method, path) {
  const authorization = `Basic ${Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')}`;
  const url = `${BASE}/v2/marketing/push_notifications/${path}`;
  const shown = url.replace(/(\/d_.{8}).*/, '$1…');
  return request(`${method} ${shown}`, url, { method, headers: { authorization } });
}

function jwt(header, claims, key) {
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${sign('sha256', text, { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

/** A function that makes a token, and makes another one when so many seconds have passed. */
function renewedAfter(seconds, make) {
  let token;
  let madeAt = 0;
  return () => {
    if (now() - madeAt >= seconds) {
      madeAt = now();
      token = make();
    }
    return token;
  };
}

function fcmSender(account) {
  const key = createPrivateKey(account.private_key);
  const accessToken = renewedAfter(3000, async () => {
    const scope = 'https://www.googleapis.com/auth/firebase.messaging';
    const claims = { iss: account.client_email, scope, aud: account.token_uri, iat: now(), exp: now() + 3600 };
    const assertion = jwt({ alg: 'RS256', typ: 'JWT' }, claims, key);
    const body = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
    const response = await request('An access token for FCM', account.token_uri, { method: 'POST', body });
    return (await response.json()).access_token;
  });
  return async ({ token, token_type }) => {
    const target = token_type === 'fid' ? 'fid' : 'token';
    const response = await fetch(`${FCM}/v1/projects/${account.project_id}/messages:send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await accessToken()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ message: { [target]: token, notification } }),
    });
    const { error: { status, details = [] } = {} } = await response.json();
    const [reason = status] = details.flatMap(({ errorCode = [] }) => errorCode);
    const dead = details.some(
      ({ errorCode, fieldViolations = [] }) =>
        errorCode === 'UNREGISTERED' || fieldViolations.some(({ field }) => field === `message.${target}`),
    );
    return { status: response.status, retryAfter: response.headers.get('retry-after'), dead, reason };
  };
}

function apnsSender(file) {
  const key = createPrivateKey(file);
  const providerToken = renewedAfter(2400, () =>
    jwt({ alg: 'ES256', kid: APNS_KEY_ID }, { iss: APNS_TEAM_ID, iat: now() }, key),
  );
  const sessions = {};
  const sessionWith = (host) => {
    const { closed = true, destroyed } = sessions[host] ?? {};
    if (!closed && !destroyed) return sessions[host];
    const session = connect(host);
    const end = () => session.destroy();
    sessions[host] = session.on('error', end).setTimeout(30_000, end);
    return session;
  };
  return async ({ token, environment, last_seen_at }) => {
    const stream = sessionWith(environment === 'sandbox' ? APNS_SANDBOX : APNS).request({
      ':method': 'POST',
      ':path': `/3/device/${token}`,
      authorization: `bearer ${providerToken()}`,
      'apns-topic': APNS_TOPIC,
      'apns-push-type': 'alert',
    });
    stream.end(JSON.stringify({ aps: { alert: notification } }));
    const [answer] = await Promise.race([once(stream, 'response'), once(stream, 'close')]);
    if (!answer) throw new Error('The connection was closed.');
    const { ':status': status, 'retry-after': retryAfter } = answer;
    const body = (await stream.setEncoding('utf8').toArray()).join('');
    const { reason, timestamp } = JSON.parse(body || '{}');
    const isNewer = timestamp < Date.parse(last_seen_at);
    return { status, retryAfter, dead: reason === 'BadDeviceToken' || (status === 410 && !isNewer), reason };
  };
}

/** Sends the message to a device. Without an answer, or while the push service is busy, it tries again. */
async function deliver(device, send) {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { status, retryAfter, dead, reason } = await send(device).catch((problem) => {
      if (problem instanceof Refused) throw problem;
      return { status: 503, retryAfter: 4 ** attempt, dead: false, reason: problem.message };
    });
    // The token and the whole device_id are secrets.
    console.log(JSON.stringify({ device: device.device_id.slice(0, 10), status, dead, reason }));
    if (dead) {
      count.dead += 1;
      return service('DELETE', `devices/${device.device_id}`);
    }
    if (status === 200) return (count.sent += 1);
    if (!mayRepeat(status)) break;
    if (attempt < attempts - 1) await pause(attempt, retryAfter);
  }
  count.failed += 1;
}

async function sendToShard(shard, senders) {
  let cursor = '';
  do {
    const page = await (await service('GET', `recipients?shard=${shard}&limit=50${cursor}`)).json();
    const known = page.recipients.filter(({ token_type }) => senders[token_type]);
    count.skipped += page.recipients.length - known.length;
    await Promise.all(known.map((device) => deliver(device, senders[device.token_type])));
    cursor = page.next_cursor && `&cursor=${page.next_cursor}`;
  } while (cursor);
}

/** A sender that is made from the file that a variable names. */
function senderFrom(variable, make) {
  const name = process.env[variable];
  if (!name) return undefined;
  const text = readFileSync(name, 'utf8');
  try {
    return make(text);
  } catch {
    throw new Error(`${variable}: ${name} holds no key for this.`);
  }
}

async function main() {
  if (!BASE || !CLIENT_ID || !CLIENT_SECRET) throw new Error('Set BASE, CLIENT_ID and CLIENT_SECRET.');
  if (!GOOGLE_FILE && !APNS_FILE) throw new Error('Set GOOGLE_FILE, APNS_FILE or both.');
  if (APNS_FILE && !(APNS_KEY_ID && APNS_TEAM_ID && APNS_TOPIC)) {
    throw new Error('APNS_FILE needs APNS_KEY_ID, APNS_TEAM_ID and APNS_TOPIC.');
  }
  const fcm = senderFrom('GOOGLE_FILE', (text) => fcmSender(JSON.parse(text)));
  const apns = senderFrom('APNS_FILE', apnsSender);
  const senders = { apns, fcm, fid: fcm };
  await Promise.all(Array.from({ length: 16 }, (_, shard) => sendToShard(shard, senders)));
  console.log(JSON.stringify(count));
  process.exit(count.failed > 0 ? 1 : 0);
}

main().catch(({ message }) => {
  console.error(message);
  process.exit(1);
});
