import { createHash, createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import OAuth from 'oauth-1.0a';
import * as v from 'valibot';
import { hmacSha1Signature, signatureBaseString } from '../../../infra/local/sandbox/oauth1-signature.ts';
import { ownSandbox } from '../../support/sandbox.ts';

const oauth1Settings = v.strictObject({
  verify_url: v.string(),
  consumer_key: v.string(),
  consumer_secret: v.string(),
  subject_field: v.literal('id_str'),
});

const { sandbox, credentials } = ownSandbox();

describe('OAuth 1.0 signatures', () => {
  const protocol = (consumerKey: string, token: string, timestamp: string, nonce: string) =>
    [
      ['oauth_consumer_key', consumerKey],
      ['oauth_token', token],
      ['oauth_signature_method', 'HMAC-SHA1'],
      ['oauth_timestamp', timestamp],
      ['oauth_nonce', nonce],
    ] as const;

  test('match RFC 5849, section 1.2', () => {
    const baseString = signatureBaseString({
      method: 'GET',
      url: 'http://photos.example.net/photos?file=vacation.jpg&size=original',
      parameters: protocol('dpf43f3p2l4k3l03', 'nnch734d00sl2jdk', '137131202', 'chapoH'),
    });
    const signature = hmacSha1Signature(baseString, 'kd94hf93k423kf44', 'pfkkdhi9sl3r4s00');
    expect(signature).toBe('MdpQcU8iPSUjWoN/UDMsK2sui9I=');
  });

  test('are made over the base string of RFC 5849, section 3.4.1.1', () => {
    const baseString = signatureBaseString({
      method: 'post',
      url: 'http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b',
      parameters: [
        ...protocol('9djdj82h48djs9d2', 'kkk9d7dh3k39sjv7', '137131201', '7d8f3e4a'),
        ['c2', ''],
        ['a3', '2 q'],
      ],
    });
    expect(baseString).toBe(
      'POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D' +
        '%26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a' +
        '%26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7',
    );
  });

  test("match Twitter's documentation, 'Creating a signature'", () => {
    const token = '370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb';
    const nonce = 'kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg';
    const baseString = signatureBaseString({
      method: 'POST',
      url: 'https://api.twitter.com/1.1/statuses/update.json?include_entities=true',
      parameters: [
        ...protocol('xvz1evFS4wEEPTGEFPHBog', token, '1318622958', nonce),
        ['oauth_version', '1.0'],
        ['status', 'Hello Ladies + Gentlemen, a signed OAuth request!'],
      ],
    });
    const consumerSecret = 'kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw';
    const tokenSecret = 'LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE';
    const signature = hmacSha1Signature(baseString, consumerSecret, tokenSecret);
    expect(signature).toBe('hCtSmYh+iHYCEqBWrE7C7hYmtUk=');
  });
});

describe('provider_c', () => {
  const settings = () => v.parse(oauth1Settings, sandbox().settings.provider_c);
  const refused = { status: 401, text: '{"errors":[{"code":32,"message":"Could not authenticate you."}]}' };

  /** Signed by a library that shares no code with the sandbox. */
  function sign(
    issued: Record<string, string>,
    changes: { url?: string; secret?: string; age?: number } = {},
  ) {
    const signer = new OAuth({
      consumer: { key: settings().consumer_key, secret: changes.secret ?? settings().consumer_secret },
      signature_method: 'HMAC-SHA1',
      hash_function: (base, key) => createHmac('sha1', key).update(base).digest('base64'),
    });
    signer.getTimeStamp = () => Math.floor(Date.now() / 1000) - (changes.age ?? 0);
    const token = { key: issued.access_token ?? '', secret: issued.access_secret ?? '' };
    const request = { method: 'GET', url: changes.url ?? settings().verify_url };
    return signer.toHeader(signer.authorize(request, token)).Authorization;
  }

  async function verify(authorization: string, url = settings().verify_url) {
    const response = await fetch(url, { headers: { authorization } });
    return { status: response.status, text: await response.text() };
  }

  test('tells whose token a signed request carries, with an id beyond what a double holds', async () => {
    const subject = 'chloë 日本';
    const issued = await credentials('provider_c', subject);
    const url = `${settings().verify_url}?include_entities=false&q=a%20b%2B!'()*`;
    const { status, text } = await verify(sign(issued, { url }), url);
    expect(status).toBe(200);
    const id = (createHash('sha256').update(subject).digest().readBigUInt64BE() >> 1n).toString();
    expect(Number.isSafeInteger(Number(id))).toBe(false);
    expect(text).toBe(`{"id":${id},"id_str":"${id}","screen_name":"${subject}"}`);
  });

  test('refuses a nonce the second time', async () => {
    const header = sign(await credentials('provider_c', 'chloe'));
    expect((await verify(header)).status).toBe(200);
    expect(await verify(header)).toEqual(refused);
  });

  test('refuses a bad signature, another query, or a time beyond 300 s', async () => {
    const issued = await credentials('provider_c', 'chloe');
    const foreign = { ...issued, access_secret: 'x' };
    expect(await verify(sign(issued, { secret: 'x' }))).toEqual(refused);
    expect(await verify(sign(foreign))).toEqual(refused);
    expect(await verify(sign(issued), `${settings().verify_url}?a=1`)).toEqual(refused);
    expect(await verify(sign(issued, { age: 310 }))).toEqual(refused);
    expect(await verify(sign(issued, { age: -310 }))).toEqual(refused);
    expect((await verify(sign(issued, { age: 290 }))).status).toBe(200);
  });

  test.each([{ expired: 'true' }, { audience: 'another-app' }])('refuses a token with %j', async (more) => {
    expect(await verify(sign(await credentials('provider_c', 'chloe', more)))).toEqual(refused);
  });

  test('refuses no header, a malformed one, and a parameter that stands twice', async () => {
    const header = sign(await credentials('provider_c', 'chloe'));
    for (const bad of ['', 'Bearer x', 'OAuth', 'OAuth x', 'OAuth a="%"', `${header}, oauth_nonce="x"`]) {
      expect(await verify(bad)).toEqual(refused);
    }
  });
});
