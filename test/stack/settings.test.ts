import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import { readFunctions } from '../../infra/endpoints.ts';
import { startVariables } from '../../infra/local/start-settings.ts';
import { readSettings, settingNames } from '../../infra/settings/settings.ts';
import { withEdge, withEdgeLogs } from '../support/deployments.ts';
import { resources, root, stacksWith, template, templateWith } from '../support/template.ts';

const { endpoints } = readFunctions();

const tableStreamArn =
  'arn:aws:dynamodb:eu-central-1:123456789012:table/restored/stream/2026-01-31T08:00:00.000';
const certificateArn = 'arn:aws:acm:eu-central-1:123456789012:certificate/1234-abcd';
const domain = { domainName: 'login.example.com', certificateArn };
const noBlocks =
  '192.0.2.1 0.0.0.0/0 192.0.2.0/33 192.0.2/24 ::1/129 fe80::1%eth0/64 ::1/64,'.split(' ');
const anything = v.record(v.string(), v.unknown());

describe('the page about the settings', () => {
  const page = readFileSync(join(root, 'docs/settings.md'), 'utf8');
  const rows = page
    .split('\n')
    .flatMap((line) => line.match(/^\| `(\w+)` \| .+ \| (.+) \| (.*)\|$/)?.slice(1, 4) ?? [])
    .map((cell) => cell.trim());
  const documented = settingNames.map((_, index) => rows.slice(index * 3, index * 3 + 3));

  test('lists every setting, and no other', () => {
    expect(documented.map(([name]) => name)).toEqual(settingNames);
    expect(rows).toHaveLength(settingNames.length * 3);
  });

  const limited = documented.flatMap(([name = '', allowed = '']): [string, number, number][] => {
    const [, least, most] = /^a whole number from (\d+) to (\d+)$/.exec(allowed) ?? [];
    return least === undefined ? [] : [[name, Number(least), Number(most)]];
  });
  test.each(limited)(
    '%s may be %i and %i, as a number and as text, and nothing beyond',
    (name, least, most) => {
      const message = `The setting ${name} must be a whole number from ${least} to ${most}.`;
      for (const value of [least, most, String(least), String(most)]) {
        // Another setting may have to fit.
        expect(() => readSettings({ [name]: value })).not.toThrow(message);
      }
      for (const value of [least - 1, most + 1, String(most + 1), least + 0.5, '']) {
        expect(() => readSettings({ [name]: value })).toThrow(message);
      }
    },
  );

  test('says how long a deployment takes', () => {
    const { canaryMinutes, canariesAtOnce } = readSettings({});
    const busyKeys = [...endpoints].filter(([, { isBusy }]) => isBusy).map(([key]) => key);
    const busy = busyKeys.length;
    const groups = Math.ceil(busy / canariesAtOnce);
    const minutes = groups * canaryMinutes;
    const words = page.replaceAll(/\s+/g, ' ');
    const named = words.match(/The ten with the most requests get a canary: (.*?)\./)?.[1] ?? '';
    expect(named.match(/[a-z-]{4,}/g)?.sort()).toEqual(busyKeys);
    expect(words).toContain(
      `${busy} functions in ${groups} groups, so ${minutes} minutes, and with the rest ${minutes} to ${minutes + 15}.`,
    );
    for (const name of ['maintenance.md', 'CHANGELOG.md'])
      expect(readFileSync(join(root, 'docs', name), 'utf8').replaceAll(/\s+/g, ' ')).toMatch(
        new RegExp(`takes \\[?${minutes} to ${minutes + 15} minutes`),
      );
    const [, atOnce, less, shorter, lessBy] =
      words.match(
        /`canariesAtOnce` (\d+) it takes (\d+) minutes less, and with `canaryMinutes` (\d+) it takes (\d+) minutes less/,
      ) ?? [];
    expect(minutes - Math.ceil(busy / Number(atOnce)) * canaryMinutes).toBe(Number(less));
    expect(minutes - groups * Number(shorter)).toBe(Number(lessBy));
  });

  test('says from which share of failing requests a new version is rolled back, at five expected errors', () => {
    const rows = [...page.matchAll(/^\| (\d+) \| ([\d.]+) \| (.+) \| (.+) \|$/gm)];
    expect(rows).toHaveLength(8);
    const { canaryMinutes } = readSettings({});
    const percent = (share: number): string =>
      share > 1 ? '–' : `${Number((100 * share).toPrecision(2))} %`;
    for (const [, all, own, ofMinute, ofCanary] of rows) {
      expect(Number(own)).toBe(Number(all) / 10);
      expect(ofMinute).toBe(percent(Math.max(0.05, 5 / Number(own))));
      expect(ofCanary).toBe(percent(5 / (canaryMinutes * Number(own))));
    }
  });

  test('states the defaults', () => {
    const stages = ['production', 'development'].map((stage) => readSettings({ stage }));
    const told = documented.map(([name = '', , text = '']) => [name, text]);
    const [production, development] = stages.map((settings) => new Map(Object.entries(settings)));
    const defaults = settingNames.map((name) => {
      const [one, other] = [production?.get(name), development?.get(name)];
      if (one === undefined || Array.isArray(one)) return [name, ''];
      if (one === other || name === 'stage') return [name, `\`${one}\``];
      return [name, `\`${one}\` in production, \`${other}\` in development`];
    });
    expect(told).toEqual(defaults);
  });
});

describe('settings', () => {
  test.each([
    [{ domainName: 'login.example.com' }, 'certificateArn must come with domainName'],
    [{ certificateArn }, 'domainName must come with certificateArn'],
    [
      { tableName: 'restored' },
      'tableStreamArn must come with tableName, unless publishEvents is false',
    ],
    [{ tableStreamArn }, 'tableName must come with tableStreamArn'],
    [{ removalPolicy: 'destroy' }, 'removalPolicy must be retain in production'],
    [{ loopbackProviders: 'true' }, 'loopbackProviders must be false in production'],
    [
      { sessionIdleSeconds: '7200', sessionAbsoluteSeconds: 3600 },
      'sessionIdleSeconds must be at most sessionAbsoluteSeconds',
    ],
    [
      { tokenConcurrency: 6, tokenReservedConcurrency: 11 },
      'tokenReservedConcurrency must be at least twice tokenConcurrency',
    ],
    ...[{ warmReadUnits: 20_000 }, { warmWriteUnits: 20_000 }, { maxWriteUnits: 20_000 }].map(
      (units): [Record<string, unknown>, string] => [
        { tableName: 'a-restored-one', publishEvents: false, ...units },
        'tableName must not come with warmReadUnits, warmWriteUnits or maxWriteUnits',
      ],
    ),
    [{ somethingElse: 5 }, 'somethingElse is unknown; docs/settings.md lists them all.'],
    [{ edge: true }, 'domainName must come with edge'],
    [{ edge: true, ...domain }, 'account must come with edge'],
    [
      { edge: true, ...domain, account: '123456789012', region: 'eu-west-1' },
      'edgeCertificateArn must come with edge',
    ],
    [
      {
        account: '123456789012',
        region: 'eu-west-1',
        kmsKeyArn: 'arn:aws:kms:eu-central-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef',
      },
      'kmsKeyArn must name a key in the region of the deployment',
    ],
    [
      {
        account: '123456789012',
        region: 'eu-west-1',
        loginHook: 'arn:aws:lambda:eu-central-1:123456789012:function:login-hook:live',
      },
      'loginHook must name a function in the region of the deployment',
    ],
    ...[{ 'aws:team': 'login' }, { team: 5 }, { team: '#' }, 'team', 'team=login,'].map(
      (tags): [Record<string, unknown>, string] => [
        { tags },
        'tags must be an object of names and texts',
      ],
    ),
    [{ archiveDays: 30, publishEvents: false }, 'archiveDays must come with publishEvents'],
    ...['', ...noBlocks].map((edgeAllowedAddresses): [Record<string, unknown>, string] => [
      { edgeAllowedAddresses },
      'edgeAllowedAddresses must be blocks of addresses, such as 192.0.2.0/24, separated by commas',
    ]),
    [{ account: '123456789012' }, 'region must come with account'],
    [{ region: 'eu-west-1' }, 'account must come with region'],
  ])('%j: %s', (given, message) => {
    expect(() => readSettings(given)).toThrow(`The setting ${message}`);
  });

  test.each([
    { sessionIdleSeconds: '3600', sessionAbsoluteSeconds: 3600 },
    { tokenConcurrency: 6, tokenReservedConcurrency: 12 },
  ])('%j just fits', (given) => {
    const numbers = Object.entries(given).map(([name, value]) => [name, Number(value)]);
    expect(readSettings(given)).toMatchObject(Object.fromEntries(numbers));
  });

  test('are distinguished from the context of the CDK itself', () => {
    const context = {
      '@aws-cdk/core:some-flag': true,
      'aws:cdk:bundling-stacks': [],
      'cli-telemetry': false,
    };
    expect(readSettings(context)).toEqual(readSettings({}));
  });

  test('an invalid one ends the synthesis with one line that names it', () => {
    const environment = {
      ...process.env,
      NODE_OPTIONS: '',
      CDK_CONTEXT_JSON: '{"rateLimit":"often"}',
    };
    const run = () =>
      execFileSync(process.execPath, ['infra/app.ts'], {
        cwd: root,
        env: environment,
        stdio: 'pipe',
      });
    expect(run).toThrow(
      expect.objectContaining({
        status: 1,
        stderr: Buffer.from('The setting rateLimit must be a whole number from 1 to 100000.\n'),
      }),
    );
  });
});

const keptForAMonth = (await stacksWith(withEdgeLogs)).service.template;

const throttle = (ThrottlingRateLimit: number, ThrottlingBurstLimit: number) => ({
  ThrottlingRateLimit,
  ThrottlingBurstLimit,
});

describe('the API', () => {
  const stageOf = (of: typeof template) => {
    const [stage] = resources('AWS::ApiGatewayV2::Stage', anything, of);
    return stage?.properties;
  };

  test('takes less on the routes that call providers than on the others, and little on the API document', () => {
    // API Gateway cannot take the throttle of a route away together with the route: see "Rename a
    // throttled route" in docs/CONTRIBUTING.md.
    expect(stageOf(template)).toEqual({
      ...stageOf(template),
      StageName: '$default',
      DefaultRouteSettings: throttle(1000, 2000),
      RouteSettings: {
        'POST /v2/marketing/oauth/token': throttle(1000, 2000),
        'POST /v2/marketing/oauth/nonce': throttle(1000, 2000),
        'POST /v2/marketing/login/user/identities': throttle(20, 40),
        'DELETE /v2/marketing/login/user/identities/{identity_id}': throttle(20, 40),
        'POST /v2/marketing/providers/{provider}/notifications': throttle(20, 40),
        // A new account has ten executions at once.
        'GET /openapi.json': throttle(2, 5),
      },
    });
    // Only a route that is there can have a throttle of its own.
    for (const RouteKey of ['POST /v2/marketing/oauth/token', 'GET /openapi.json']) {
      const route = { Properties: { RouteKey } };
      const [routeId] = Object.keys(template.findResources('AWS::ApiGatewayV2::Route', route));
      template.hasResource('AWS::ApiGatewayV2::Stage', { DependsOn: Match.arrayWith([routeId]) });
    }
  });

  test('writes one line of JSON per request, without its query, headers and body', () => {
    const { AccessLogSettings } = v.parse(
      v.object({ AccessLogSettings: v.object({ Format: v.string() }) }),
      stageOf(template),
    );
    const fields: string[] = Object.values(JSON.parse(AccessLogSettings.Format));
    expect(fields).toContain('$context.requestId');
    const allowed =
      /^\$context\.(requestTime|requestId|routeKey|status|responseLatency|integrationLatency|responseLength|identity\.sourceIp|protocol|error\.responseType)$/;
    expect(fields.filter((field) => !allowed.test(field))).toEqual([]);
  });

  test.each([
    [90, template],
    [30, keptForAMonth],
  ])('every log group but that of the audit keeps its lines for %i days', (days, of) => {
    const groups = resources('AWS::Logs::LogGroup', v.object({ RetentionInDays: v.number() }), of);
    const [audit = [], others = []] = [true, false].map((isAudit) =>
      groups.filter(({ id }) => id.startsWith('AuditLog') === isAudit),
    );
    expect(audit.map(({ properties }) => properties.RetentionInDays)).toEqual([400]);
    expect(new Set(others.map(({ properties }) => properties.RetentionInDays))).toEqual(
      new Set([days]),
    );
  });

  test('has a domain of its own when it is given one, which is then the issuer', async () => {
    const own = await templateWith(withEdge);
    own.hasResourceProperties('AWS::ApiGatewayV2::DomainName', {
      DomainName: 'login.example.com',
      DomainNameConfigurations: [{ CertificateArn: certificateArn, EndpointType: 'REGIONAL' }],
    });
    own.resourceCountIs('AWS::ApiGatewayV2::ApiMapping', 1);
    own.allResourcesProperties('AWS::Lambda::Function', {
      Environment: { Variables: { ISSUER: 'https://login.example.com' } },
    });
    own.hasOutput('ApiUrl', { Value: 'https://login.example.com' });
    own.hasOutput('DomainTarget', {});
    template.resourceCountIs('AWS::ApiGatewayV2::DomainName', 0);
  });
});

/** Rates and bursts, all different: 1 and 2 for the first route of the page. */
const limitNames = settingNames.filter((name) => /^(?!edge).*(rate|burst)Limit$/i.test(name));
const limits = Object.fromEntries(limitNames.map((name, place) => [name, place + 1]));
const originSecretHashes = 'a'.repeat(64);
const development = await templateWith({
  stage: 'development',
  loopbackProviders: true,
  accessTokenSeconds: 60,
  refreshGraceSeconds: 0,
  refreshReplaySeconds: 90,
  ...limits,
  originSecretHashes,
});

describe('a deployment for development', () => {
  test('leaves nothing behind', () => {
    for (const type of [
      'AWS::DynamoDB::Table',
      'AWS::SecretsManager::Secret',
      'AWS::Logs::LogGroup',
    ]) {
      development.allResources(type, { DeletionPolicy: 'Delete' });
    }
    development.allResourcesProperties('AWS::DynamoDB::Table', {
      DeletionProtectionEnabled: false,
    });
  });

  test('has its own throttles', () => {
    development.hasResourceProperties('AWS::ApiGatewayV2::Stage', {
      DefaultRouteSettings: throttle(11, 12),
      RouteSettings: {
        'POST /v2/marketing/oauth/token': throttle(1, 2),
        'POST /v2/marketing/oauth/nonce': throttle(3, 4),
        'POST /v2/marketing/login/user/identities': throttle(5, 6),
        'POST /v2/marketing/providers/{provider}/notifications': throttle(7, 8),
        'GET /openapi.json': throttle(9, 10),
      },
    });
  });

  test('passes the settings to the functions', () => {
    development.allResourcesProperties('AWS::Lambda::Function', {
      Environment: {
        Variables: {
          LOOPBACK_PROVIDERS: 'allowed',
          ACCESS_TOKEN_SECONDS: '60',
          REFRESH_GRACE_SECONDS: '0',
          REFRESH_REPLAY_SECONDS: '90',
          ORIGIN_SECRET_HASHES: originSecretHashes,
        },
      },
    });
  });
});

test('the tags are those of each stack, which CloudFormation gives to what it makes', async () => {
  const tags = { team: 'login', stage: 'a=b' };
  expect(readSettings({ tags: 'team=login,stage=a=b' })).toEqual(readSettings({ tags }));
  const { service, edge } = await stacksWith({ ...withEdge, tags });
  for (const one of [service, edge])
    expect(one?.tags).toMatchObject({ ...tags, 'login-service:version': expect.any(String) });
});

test('the pages name every variable of npm start but the one that is for tests', () => {
  const pages = ['README.md', 'docs/settings.md', 'docs/CONTRIBUTING.md'].map((page) =>
    readFileSync(page, 'utf8'),
  );
  const isNamed = (variable: string) => new RegExp(`\\b${variable}\\b`).test(pages.join());
  expect(startVariables.filter((variable) => !isNamed(variable))).toEqual([
    'AWS_CALL_MILLISECONDS',
  ]);
});
