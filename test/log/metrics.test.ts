import { describe, expect, test } from '@jest/globals';
import { asMetrics } from '../../lib/log/metrics.ts';
import { writtenDuring } from '../support/log-lines.ts';
import { newGrants, newKeeper } from '../support/provider-access.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { prepareLogin, type Target, targets } from '../support/provider-targets.ts';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';

const { running, service, proxy } = await startServiceWithStore({ METRICS_NAMESPACE: 'a-stack' });
const standIn = await startProviderStandIn();

/** The metrics that an action writes: name, value, and the sets of dimensions with their values. */
async function metricsOf(action: () => Promise<unknown>): Promise<unknown[]> {
  const written = await writtenDuring(running, action);
  return written
    .split('\n')
    .filter((line) => line.includes('"_aws"'))
    .map((line) => JSON.parse(line))
    .flatMap((line) =>
      line._aws.CloudWatchMetrics.map(
        ({ Namespace, Dimensions, Metrics: [{ Name }] }: Directive) => [
          `${Namespace}/${Name}`,
          line[Name],
          ...Dimensions.flat().map((name) => `${name}=${line[name]}`),
        ],
      ),
    );
}

interface Directive {
  Namespace: string;
  Dimensions: string[][];
  Metrics: [{ Name: string }];
}

test('a login counts, and so does each call to its provider', async () => {
  const written = await metricsOf(() => service.logIn(unique('alice'), 'provider_a'));
  expect(written).toEqual([
    ['a-stack/ProviderLatency', expect.any(Number), 'provider=provider_a'],
    ['a-stack/ProviderLatency', expect.any(Number), 'provider=provider_a'],
    ['a-stack/TokensIssued', 1, 'grant_type=provider_credentials', 'provider=provider_a'],
  ]);
});

test('a rejected login counts by its reason', async () => {
  const form = { grant_type: 'provider_credentials', provider: 'provider_a', access_token: 'ä' };
  expect(await metricsOf(() => service.token(form))).toEqual([
    [
      'a-stack/TokensRefused',
      1,
      'error=invalid_grant',
      'reason=credential_malformed',
      'provider=provider_a',
    ],
  ]);
});

test('a wrong secret counts by its reason, of an account and of a client', async () => {
  const { account, login_app } = service.demo;
  const wrongAccount = { ...account, account_secret: 'wrong' };
  expect(await metricsOf(() => service.search('', { account: wrongAccount }))).toEqual([
    ['a-stack/RequestsRefused', 1, 'reason=secret_wrong'],
  ]);
  const wrongClient = { ...login_app, client_secret: 'wrong' };
  expect(await metricsOf(() => service.introspect('made-up', wrongClient))).toEqual([
    ['a-stack/RequestsRefused', 1, 'reason=secret_wrong'],
  ]);
  expect(
    await metricsOf(() => service.token({ grant_type: 'client_credentials' }, wrongClient)),
  ).toEqual([['a-stack/TokensRefused', 1, 'error=invalid_client', 'reason=secret_wrong']]);
});

test('a refresh token that is used again before its successor counts, and nobody is logged out', async () => {
  const { refresh_token } = (await service.logIn(unique('carol'))).body;
  const refresh = () => service.refresh(refresh_token);
  const issued = ['a-stack/TokensIssued', 1, 'grant_type=refresh_token'];
  expect(await metricsOf(refresh)).toEqual([issued]);
  expect(await metricsOf(refresh)).toEqual([['a-stack/RefreshTokensRepeated', 1], issued]);
});

test('the reuse of a refresh token counts', async () => {
  const { refresh_token } = (await service.logIn(unique('bob'))).body;
  const { refresh } = service;
  const next = (await refresh(refresh_token)).body.refresh_token;
  await refresh(next);
  expect(await metricsOf(() => refresh(refresh_token))).toEqual([
    ['a-stack/RefreshTokensReused', 1],
    ['a-stack/TokensRefused', 1, 'error=invalid_grant', 'reason=refresh_token_reused'],
  ]);
});

test('a registration and a search count', async () => {
  const token = await service.loginAppToken();
  const device = { platform: 'android', token: unique('push') };
  expect(await metricsOf(() => service.register(device, token))).toEqual([
    ['a-stack/DevicesRegistered', 1, 'outcome=created'],
  ]);
  expect(await metricsOf(() => service.search())).toEqual([['a-stack/Searches', 1]]);
});

describe('a login', () => {
  async function metricsOfLogin(target: Target, status: number) {
    const scene = standIn.openScene();
    scene.answer(target.endpoint, { status });
    const login = await prepareLogin(service, scene, target);
    return metricsOf(() => service.token(login.form, login.app));
  }

  test('at a provider that is down counts once as its failure and once as a 5xx', async () => {
    const written = await metricsOfLogin(targets.userInfo, 503);
    const counted = written.filter((one) => /Provider(Failures|sWith)|Server/.test(String(one)));
    expect(counted).toEqual([
      ['a-stack/ProviderFailures', 1, 'provider=provider_a'],
      ['a-stack/ServerErrors', 1],
    ]);
  });

  // Alarms subtract the failures from the 5xx: anybody with a made-up credential could hide ours.
  test('with a credential that gets no verdict counts as neither', async () => {
    const written = await metricsOfLogin(targets.introspection, 404);
    expect(String(written)).toContain('a-stack/ProvidersWithoutVerdict');
    expect(String(written)).not.toMatch(/ProviderFailures|ServerErrors/);
  });
});

describe("an exchange for a provider's token", () => {
  const issued = ['a-stack/ProviderTokensIssued', 1, 'provider=provider_b'];

  test('counts by its provider, as it is kept and after a refresh, and as no token of ours', async () => {
    const grants = newGrants();
    const { logIn, exchangeFor } = await newKeeper(service, standIn, { grants });
    const { token } = await logIn();
    expect(await metricsOf(() => exchangeFor(token))).toEqual([issued]);

    grants.lifetime = 0;
    const another = (await logIn()).token;
    const latency = ['a-stack/ProviderLatency', expect.any(Number), 'provider=provider_b'];
    expect(await metricsOf(() => exchangeFor(another))).toEqual([latency, issued]);
  });

  test('that is refused counts as a refusal alone', async () => {
    const { app, logIn, exchangeFor, grants } = await newKeeper(service, standIn);
    const { token } = await logIn();
    const refused = (error: string, reason: string, ...more: string[]) => [
      ['a-stack/TokensRefused', 1, `error=${error}`, `reason=${reason}`, ...more],
    ];
    expect(await metricsOf(() => exchangeFor(token, {}, app))).toEqual(
      refused('unauthorized_client', 'provider_tokens_not_allowed'),
    );
    expect(await metricsOf(() => exchangeFor(`${token}x`))).toEqual(
      refused('invalid_request', 'signature_invalid'),
    );
    grants.more = { token_type: 'DPoP' };
    const unkept = (await logIn()).token;
    expect(await metricsOf(() => exchangeFor(unkept))).toEqual(
      refused('invalid_grant', 'no_provider_access', 'provider=provider_b'),
    );
  });

  test('at a provider that is down counts as its failure and as a 5xx', async () => {
    const grants = newGrants({ lifetime: 0 });
    const { logIn, exchangeFor, scene } = await newKeeper(service, standIn, { grants });
    const { token } = await logIn();
    scene.answer('token', { status: 503 });
    const written = String(await metricsOf(() => exchangeFor(token)));
    expect(written).toContain('a-stack/ProviderFailures,1');
    expect(written).toContain('a-stack/ServerErrors,1');
    expect(written).not.toContain('ProviderTokensIssued');
  });
});

test('a 500 counts', async () => {
  const fail = () => proxy.during(() => 'fails before', service.search);
  expect(await metricsOf(fail)).toEqual([['a-stack/ServerErrors', 1]]);
});

test.each(['request_failed', 'provider_failed'] as const)(
  '%s counts by the function, its version and the cause, so that alarms tell a new version from the one before',
  (event) => {
    process.env.METRICS_NAMESPACE = 'a-stack';
    process.env.AWS_LAMBDA_FUNCTION_NAME = 'a-function';
    process.env.AWS_LAMBDA_FUNCTION_VERSION = '7';
    const { _aws, ...fields } = asMetrics(event, { event });
    expect(fields).toMatchObject({ ServerErrors: 1, function: 'a-function', version: '7', event });
    const dimensions = '[[],["function"],["function","version"],["function","version","event"]]';
    expect(JSON.stringify(_aws)).toContain(
      `"Dimensions":${dimensions},"Metrics":[{"Name":"ServerErrors"`,
    );
  },
);
