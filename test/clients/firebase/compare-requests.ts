import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { localDirectory } from '../../../infra/local/local-directories.ts';
import { readBody, serve } from '../../../infra/local/loopback-server.ts';

const here = import.meta.dirname;

const token = 'fTq0EXAMPLE:APA91bToken';
const fid = 'cIzzPzp0QFyA_r-B1hQ9xx';
const recipients = [
  { device_id: 'd_1', platform: 'android', token_type: 'fcm', token },
  { device_id: 'd_2', platform: 'ios', token_type: 'fid', token: fid },
];

interface FcmRequest {
  method: string | undefined;
  url: string;
  authorization: string | undefined;
  type: string | undefined;
  body: { message: { token?: string; fid?: string } };
}

const inOrder = (requests: FcmRequest[]) =>
  requests.toSorted(({ body }) => (body.message.token === undefined ? 1 : -1));

/** Has the worker of `docs/examples/send-push.mjs` and `firebase-admin` send to a token and to an installation id, and compares their requests. */
export async function compareRequestsToFcm(): Promise<void> {
  let sent: FcmRequest[] = [];
  const standIn = await serve(async (request, response) => {
    const { method, url = '', headers } = request;
    const body = (await readBody(request)).toString();
    const { authorization, 'content-type': type = '' } = headers;
    const isPush = url.endsWith(':send');
    if (isPush) sent.push({ method, url, authorization, type: type.split(';')[0], body: JSON.parse(body) });
    response.setHeader('content-type', 'application/json');
    const page = { recipients: url.includes('shard=0&') ? recipients : [] };
    const answer = url === '/token' ? { access_token: 'ya29.demo' } : page;
    response.end(JSON.stringify(isPush ? { name: 'projects/demo/messages/1' } : answer));
  });
  try {
    const folder = localDirectory('clients', 'firebase');
    for (const name of ['package.json', 'package-lock.json', 'send.mjs'])
      copyFileSync(join(here, name), join(folder, name));
    await execa('npm', ['ci', '--omit=optional'], { cwd: folder });
    const notification = { title: 'Hello', body: 'Something is new.' };
    const messages = JSON.stringify([
      { token, notification },
      { fid, notification },
    ]);
    await execa(process.execPath, ['send.mjs', new URL(standIn.url).port, messages], { cwd: folder });
    const expected = sent;
    sent = [];

    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const account = {
      project_id: 'demo',
      client_email: 'sender@demo.iam.gserviceaccount.com',
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      token_uri: `${standIn.url}/token`,
    };
    writeFileSync(join(folder, 'account.json'), JSON.stringify(account));
    const worker = join(import.meta.dirname, '../../../docs/examples/send-push.mjs');
    const env = { BASE: standIn.url, CLIENT_ID: 'cl_demo', CLIENT_SECRET: 'secret', FCM: standIn.url };
    await execa(process.execPath, [worker], {
      cwd: folder,
      env: { ...env, GOOGLE_FILE: 'account.json' },
    });
    assert.equal(expected.length, recipients.length);
    assert.deepEqual(inOrder(sent), inOrder(expected));
  } finally {
    await standIn.close();
  }
}
