import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { oauth1Signature, parseOAuth1Header } from '../../infra/local/sandbox/oauth1-provider.ts';
import { authorizationHeader } from '../../lib/providers/oauth1/protocol.ts';

const parametersOf = parseOAuth1Header;

describe('the OAuth 1.0 signer', () => {
  test("makes the signature of Twitter's documentation, 'Creating a signature'", () => {
    const header = authorizationHeader(
      {
        consumer_key: 'xvz1evFS4wEEPTGEFPHBog',
        consumer_secret: 'kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw',
      },
      'POST',
      'https://api.twitter.com/1.1/statuses/update.json?include_entities=true' +
        '&status=Hello%20Ladies%20%2B%20Gentlemen%2C%20a%20signed%20OAuth%20request%21',
      {
        key: '370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb',
        secret: 'LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE',
      },
      { nonce: 'kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg', timestamp: 1318622958 },
    );
    expect(header).toBe(
      'OAuth oauth_consumer_key="xvz1evFS4wEEPTGEFPHBog", ' +
        'oauth_nonce="kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg", ' +
        'oauth_signature="hCtSmYh%2BiHYCEqBWrE7C7hYmtUk%3D", ' +
        'oauth_signature_method="HMAC-SHA1", oauth_timestamp="1318622958", ' +
        'oauth_token="370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb", oauth_version="1.0"',
    );
  });

  const rfc5849 = {
    consumer: { consumer_key: 'dpf43f3p2l4k3l03', consumer_secret: 'kd94hf93k423kf44' },
    url: 'http://photos.example.net/photos?file=vacation.jpg&size=original',
    token: { key: 'nnch734d00sl2jdk', secret: 'pfkkdhi9sl3r4s00' },
    fixed: { nonce: 'chapoH', timestamp: 137131202 },
  };

  test('signs the request of RFC 5849, section 1.2 as the example does, but for the version beside', () => {
    const { consumer, url, token, fixed } = rfc5849;
    const parameters = parametersOf(authorizationHeader(consumer, 'GET', url, token, fixed));
    const signed = () =>
      oauth1Signature('GET', url, parameters, consumer.consumer_secret, token.secret);
    expect(parameters.get('oauth_signature')).toBe(signed());
    parameters.delete('oauth_version');
    // The signature that the RFC shows.
    expect(signed()).toBe('MdpQcU8iPSUjWoN/UDMsK2sui9I=');
  });

  test('agrees with other code on any token, secret and query', () => {
    const unit = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
    const visible = fc.string({ unit, minLength: 1 });
    // Some names come twice.
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 2 });
    const pair = fc.tuple(fc.oneof(fc.constant('a[b]'), name), fc.string({ maxLength: 8 }));
    const query = fc.array(pair, { maxLength: 5 });
    const consumer = fc.record({ consumer_key: visible, consumer_secret: visible });
    const token = fc.record({ key: visible, secret: visible });
    const isSigned = fc.property(consumer, token, query, (consumer, token, names) => {
      const pairs = names.map((pair) => pair.map(encodeURIComponent).join('='));
      const url = `https://api.example/me${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`;
      const parameters = parametersOf(authorizationHeader(consumer, 'GET', url, token));
      expect(parameters.get('oauth_token')).toBe(token.key);
      expect(parameters.get('oauth_consumer_key')).toBe(consumer.consumer_key);
      const expected = oauth1Signature(
        'GET',
        url,
        parameters,
        consumer.consumer_secret,
        token.secret,
      );
      expect(parameters.get('oauth_signature')).toBe(expected);
    });
    fc.assert(isSigned, { numRuns: 300 });
  });

  test('and that other code signs the request of RFC 5849, section 3.4.1.1', () => {
    const parameters = parametersOf(
      'OAuth oauth_consumer_key="9djdj82h48djs9d2", oauth_token="kkk9d7dh3k39sjv7", oauth_nonce="7d8f3e4a", ' +
        'oauth_signature_method="HMAC-SHA1", oauth_timestamp="137131201"',
    );
    const body = [
      ['c2', ''],
      ['a3', '2 q'],
    ] as const;
    const url = 'http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b';
    const all = new Map([...parameters, ...body]);
    // The signature of erratum 2550, for the secrets of the example.
    expect(oauth1Signature('POST', url, all, 'j49sk3j29djd', 'dh893hdasih9')).toBe(
      'r6/TJjbCOr97/+UU0NsvSne7s5g=',
    );
  });

  test('never uses a nonce twice, and the time of now', () => {
    const { consumer, url, token } = rfc5849;
    const headers = Array.from({ length: 100 }, () =>
      parametersOf(authorizationHeader(consumer, 'GET', url, token)),
    );
    expect(new Set(headers.map((header) => header.get('oauth_nonce'))).size).toBe(100);
    const time = Number(headers[0]?.get('oauth_timestamp'));
    expect(Math.abs(time - Date.now() / 1000)).toBeLessThan(10);
  });
});
