import { isIP } from 'node:net';
import * as v from 'valibot';
import { defaultRecentLoginSeconds } from '../../lib/login-users/recent-login.ts';
import { mostSlots } from '../../lib/login-users/session-ids.ts';
import { tokenAlgorithms } from '../../lib/signing/settings.ts';
import { defaultProviderTokensPerMinute } from '../../lib/tokens/limit-exchanges.ts';
import { pins } from './pins.ts';
import {
  anyRegion,
  arn,
  deploymentName,
  either,
  limited,
  list,
  numberAmong,
  setting,
  tags,
  text,
  trueOrFalse,
  whole,
} from './values.ts';

/** Numbers of days for which CloudWatch Logs can keep a log group, other than for ever. */
const retentionDays = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288,
  3653,
] as const;

const percent = whole(1, 100);

/** Seconds. */
const year = 365 * 86_400;

const certificate = 'certificate/[\\w-]+';
const key = 'key/(mrk-[\\da-f]{32}|[\\da-f]{8}(-[\\da-f]{4}){3}-[\\da-f]{12})';
const regionName = /^[a-z]{2}(-[a-z]+)+-\d$/;

/**
 * Whether a text is a block of addresses in CIDR notation, but not that of all, which AWS WAF
 * rejects.
 */
function isBlock(text: string): boolean {
  const [, address = '', length = ''] = text.match(/^([\da-f.:]+)\/([1-9]\d{0,2})$/i) ?? [];
  const longest = isIP(address) === 4 ? 32 : 128;
  return isIP(address) !== 0 && Number(length) <= longest;
}

const managedRules = ['ip-reputation', 'known-bad-inputs'] as const;

const originSecretHashes = text(
  /^[0-9a-f]{64}(,[0-9a-f]{64})?$/,
  'one or two SHA-256 hashes in lower-case hex, separated by a comma',
);

/**
 * Every setting of a deployment. Each is the schema of its value, too: validation, errors and the
 * table of `docs/settings.md` follow from these records.
 */
export const settingsSchema = v.object({
  deployment: setting({
    meaning: 'The settings file, and the name of the stack',
    values: deploymentName,
  }),
  stack: setting({
    meaning: 'The name of the stack when there is no `deployment`',
    values: deploymentName,
    default: 'login-service',
  }),
  account: setting({
    meaning: 'The account of the deployment. The CDK then rejects credentials for another one',
    values: text(/^\d{12}$/, 'the 12 digits of an AWS account'),
  }),
  region: setting({
    meaning: "The deployment's region. Requires `account`",
    values: text(regionName, 'the name of a region'),
  }),
  stage: setting({
    meaning:
      'The defaults of `removalPolicy` and `canary`. Without a stage, the defaults are the safe ones',
    values: either('production', 'development'),
    default: 'production',
  }),
  domainName: setting({
    meaning:
      'Your own domain for the API. It is also the issuer of the tokens. Point its DNS record at the output `DomainTarget`',
    values: text(/^([a-z0-9-]+\.)+[a-z]{2,}$/, 'a domain name in lower case'),
  }),
  certificateArn: setting({
    meaning: "The domain's certificate, in the stack's region",
    values: arn('acm', anyRegion, certificate, 'an ACM certificate'),
  }),
  tokenAlgorithm: setting({
    meaning:
      'The algorithm of access tokens; [a change](operating.md#changing-the-algorithm-of-tokens) takes a day',
    values: either(...tokenAlgorithms),
    default: tokenAlgorithms[0],
  }),
  accessTokenSeconds: setting({
    meaning: 'The lifetime of an access token, in seconds',
    values: whole(60, 86_400),
    default: 3600,
  }),
  sessionIdleSeconds: setting({
    meaning:
      "The idle timeout of a session, in seconds: a session that isn't refreshed for this long ends",
    values: whole(3600, year),
    default: 30 * 86_400,
  }),
  sessionAbsoluteSeconds: setting({
    meaning: 'The longest lifetime of any session, in seconds',
    values: whole(3600, 10 * year),
    default: year,
  }),
  recentLoginSeconds: setting({
    meaning:
      'Seconds for which a login [counts as recent](client-guide.md#log-in-again-first), and an access token of a [guest](client-guide.md#guests) of a server. `0` is for ever',
    values: whole(0, year),
    default: defaultRecentLoginSeconds,
  }),
  stepUpAcrValues: setting({
    meaning:
      'The [`acr` values](providers.md#how-a-person-logged-in) of which a login needs one to link or unlink, or to delete the account. A [guest](client-guide.md#guests) has none to show',
    values: text(/^[!#-[\]-~]+( [!#-[\]-~]+)*$/, 'acr values, separated by spaces'),
  }),
  maxSessions: setting({
    meaning:
      'The most open sessions of a person. One ends when the person has logged in this many times since',
    values: whole(1, mostSlots),
    default: 100,
  }),
  refreshGraceSeconds: setting({
    meaning:
      'How many seconds a [replaced refresh token](#replaced-refresh-tokens) is accepted again. Without it, there is no limit',
    values: whole(0, 30 * 86_400),
  }),
  refreshReplaySeconds: setting({
    meaning: 'After how many seconds a [replaced refresh token](#replaced-refresh-tokens) is late',
    values: whole(1, 30 * 86_400),
    default: 60,
  }),
  providerTokensPerMinute: setting({
    meaning:
      'The most [access tokens of providers](provider-tokens.md) that one client gets in a minute',
    values: whole(1, 100_000),
    default: defaultProviderTokensPerMinute,
  }),
  tokenRateLimit: setting({
    meaning: "The token route's throttling rate, in requests per second",
    values: whole(1, 100_000),
    default: 1000,
  }),
  tokenBurstLimit: setting({
    meaning: "The token route's throttling burst, in requests",
    values: whole(1, 100_000),
    default: 2000,
  }),
  nonceRateLimit: setting({
    meaning: 'The throttling rate of the route that makes nonces, in requests per second',
    values: whole(1, 100_000),
    default: 1000,
  }),
  nonceBurstLimit: setting({
    meaning: 'The throttling burst of the route that makes nonces, in requests',
    values: whole(1, 100_000),
    default: 2000,
  }),
  identityRateLimit: setting({
    meaning:
      'The throttling rate of each route that links or unlinks an identity, in requests per second',
    values: whole(1, 100_000),
    default: 20,
  }),
  identityBurstLimit: setting({
    meaning: 'The throttling burst of each route that links or unlinks an identity, in requests',
    values: whole(1, 100_000),
    default: 40,
  }),
  notificationRateLimit: setting({
    meaning: 'The throttling rate of the route for provider notifications, in requests per second',
    values: whole(1, 100_000),
    default: 20,
  }),
  notificationBurstLimit: setting({
    meaning: 'The throttling burst of the route for provider notifications, in requests',
    values: whole(1, 100_000),
    default: 40,
  }),
  documentRateLimit: setting({
    meaning: 'The throttling rate of `/openapi.json`, in requests per second',
    values: whole(1, 100_000),
    default: 2,
  }),
  documentBurstLimit: setting({
    meaning: 'The throttling burst of `/openapi.json`, in requests',
    values: whole(1, 100_000),
    default: 5,
  }),
  loginHook: setting({
    meaning:
      'The name or ARN of [your Lambda function](login-hook.md) that decides about logins, perhaps with an alias',
    values: text(
      /^(arn:aws[\w-]*:lambda:[\w-]+:\d{12}:function:)?[\w-]{1,64}(:[\w-]{1,128})?$/,
      'the name or ARN of a Lambda function, perhaps with an alias',
    ),
  }),
  loginHookOn: setting({
    meaning: 'Whether the login hook is asked at each refresh, too, or only at logins and links',
    values: either('login', 'refresh'),
    default: 'refresh',
  }),
  loginHookSeconds: setting({
    meaning: 'The time that the login hook may take, in seconds',
    values: whole(1, 5),
    default: 3,
  }),
  externalIdInTokens: setting({
    meaning:
      'Whether access tokens contain the `external_id` of [imported people](importing.md#people), as `ext_id`',
    values: trueOrFalse,
    default: false,
  }),
  externalIdInEvents: setting({
    meaning:
      'Whether [published events](events.md) contain the `external_id` of [imported people](importing.md#people)',
    values: trueOrFalse,
    default: false,
  }),
  rateLimit: setting({
    meaning: 'The throttling rate of each other route, in requests per second',
    values: whole(1, 100_000),
    default: 1000,
  }),
  burstLimit: setting({
    meaning: 'The throttling burst of each other route, in requests',
    values: whole(1, 100_000),
    default: 2000,
  }),
  logRetentionDays: setting({
    meaning:
      'Retention in days of the logs of functions, requests and the edge, which are all but the audit log',
    values: numberAmong(retentionDays),
    default: 90,
  }),
  auditRetentionDays: setting({
    meaning: 'Retention in days of the [audit log](watching.md#the-audit-log)',
    values: numberAmong(retentionDays),
    default: 400,
  }),
  kmsKeyArn: setting({
    meaning:
      '[A key of your own](#a-key-of-your-own) that encrypts the table, the secrets, the logs, the alarm topic and the queues',
    values: arn('kms', anyRegion, key, 'a KMS key'),
  }),
  tags: setting({
    meaning: '[Tags](#tags) of everything that the deployment creates',
    values: tags,
  }),
  alarmEmail: setting({
    meaning:
      'Recipient of an e-mail when an alarm goes off or ends. They must confirm the subscription',
    values: limited('an e-mail address', v.pipe(v.string(), v.email())),
  }),
  alarmErrorPercent: setting({
    meaning:
      'The share of 5xx, in per cent, at which [ServerErrors and ServerErrorsOf…](watching.md#alarms) go off',
    values: percent,
    default: 1,
  }),
  alarmFewest: setting({
    meaning:
      'The fewest errors, throttles or failures in a period at which an alarm about a share goes off',
    values: whole(1, 100_000),
    default: 5,
  }),
  alarmLatencyMilliseconds: setting({
    meaning: 'The latency (p99), in milliseconds, at which the alarm Latency goes off',
    values: whole(1, 10_000),
    default: 3000,
  }),
  alarmThrottledPercent: setting({
    meaning:
      'The share of throttled invocations, table or route requests, in per cent, at which their alarms go off',
    values: percent,
    default: 1,
  }),
  alarmProviderFailurePercent: setting({
    meaning:
      'The share of failed calls, in per cent, at which ProviderFailures and LoginHookFailed go off: of providers, and of the login hook',
    values: percent,
    default: 2,
  }),
  alarmReusedPercent: setting({
    meaning:
      'How many outdated refresh tokens per 100 refreshes set off the alarm RefreshTokensReused',
    values: percent,
    default: 1,
  }),
  alarmRepeatedPercent: setting({
    meaning:
      'The share of repeated refresh tokens, in per cent, at which the alarm RefreshTokensRepeated goes off',
    values: percent,
    default: 10,
  }),
  alarmPublicRefusalPercent: setting({
    meaning:
      'The share of refused public clients, in per cent of token requests, at which PublicClientsRefused goes off',
    values: percent,
    default: 20,
  }),
  alarmWrongSecretPercent: setting({
    meaning:
      'The share of requests with a wrong secret, in per cent, at which the alarm WrongSecrets goes off',
    values: percent,
    default: 1,
  }),
  removalPolicy: setting({
    meaning: 'Whether the table, secrets and audit log outlive the stack',
    values: either('retain', 'destroy'),
    defaultsTo: '`retain` in production, `destroy` in development',
  }),
  tableName: setting({
    meaning:
      "An existing table, such as [a restored one](maintenance.md#restore-the-table), to use instead of the stack's own",
    values: text(/^[\w.-]{3,255}$/, 'the name of a table'),
  }),
  tableStreamArn: setting({
    meaning: 'The stream of the table that `tableName` names',
    values: arn('dynamodb', anyRegion, 'table/[\\w.-]+/stream/[\\w:.-]+', 'the stream of a table'),
  }),
  publishEvents: setting({
    meaning: 'Whether to [publish events](events.md) on an event bus',
    values: trueOrFalse,
    default: true,
  }),
  archiveDays: setting({
    meaning:
      'How many days the bus keeps [an archive of the events](events.md#an-archive). Without it, there is none',
    values: whole(1, 3650),
  }),
  change: setting({
    meaning:
      'Settings that this deployment [changes on purpose](#what-a-stack-keeps). Never in the file',
    values: list(v.picklist(pins), `some of ${pins.join(', ')}, separated by commas`),
  }),
  tokenConcurrency: setting({
    meaning:
      '[Instances of the token function](#provisioned-concurrency) that are kept warm and billed by the hour',
    values: whole(0, 1000),
    default: 0,
  }),
  tokenReservedConcurrency: setting({
    meaning:
      '[Reserved concurrency](capacity.md#before-a-launch) of the token function: its own instances, and the most it can have',
    values: whole(1, 100_000),
  }),
  warmReadUnits: setting({
    meaning:
      '[Warm throughput](capacity.md#before-a-launch) of the table: read units per second that it accepts at once',
    values: whole(12_000, 10_000_000),
  }),
  warmWriteUnits: setting({
    meaning:
      '[Warm throughput](capacity.md#before-a-launch) of the table: write units per second that it accepts at once',
    values: whole(4_000, 10_000_000),
  }),
  maxWriteUnits: setting({
    meaning:
      'Most write units per second that the table accepts, as [a limit of its costs](capacity.md#before-a-launch)',
    values: whole(1, 10_000_000),
  }),
  replicaRegions: setting({
    meaning:
      "Regions for replicas of the secrets, for [a second region](maintenance.md#a-second-region). The stack's own is ignored",
    values: list(v.pipe(v.string(), v.regex(regionName)), 'names of regions, separated by commas'),
  }),
  tracing: setting({
    meaning: "Whether X-Ray samples invocations of the functions. HTTP APIs don't support it",
    values: trueOrFalse,
    default: false,
  }),
  canary: setting({
    meaning:
      'Whether new versions of the ten busiest functions are [a canary](#what-the-canary-catches) first',
    values: trueOrFalse,
    defaultsTo: '`true` in production, `false` in development',
  }),
  canaryMinutes: setting({
    meaning:
      'How many minutes a new version gets a tenth of the requests. More [catch more](#what-the-canary-catches)',
    values: numberAmong([5, 10, 15, 30]),
    default: 15,
  }),
  canariesAtOnce: setting({
    meaning: 'How many canaries [there are at the same time](#how-long-a-deployment-takes)',
    values: whole(1, 50),
    default: 5,
  }),
  originSecretHashes: setting({
    meaning:
      'The SHA-256 of [the origin secret](#origin-secret) that requests need, or of two during a rotation',
    values: originSecretHashes,
  }),
  originSecretVersion: setting({
    meaning:
      'The version of the origin secret that CloudFront sends. Only to [rotate it](#rotate-the-secret)',
    values: text(/^[\w-]{32,64}$/, 'the id of a version of the origin secret'),
  }),
  edge: setting({
    meaning: 'Puts [CloudFront and AWS WAF](#cloudfront-and-aws-waf) in front, as a second stack',
    values: trueOrFalse,
    default: false,
  }),
  edgeCertificateArn: setting({
    meaning: "The domain's certificate for CloudFront",
    values: arn('acm', 'us-east-1', certificate, 'an ACM certificate in us-east-1'),
  }),
  edgeRateLimit: setting({
    meaning: 'How many requests one address may send in five minutes before AWS WAF blocks it',
    values: whole(10, 1_000_000),
    default: 2000,
  }),
  edgeTokenRateLimit: setting({
    meaning:
      'How many requests to the token route one address may send in five minutes. Without it, `edgeRateLimit` alone counts them',
    values: whole(10, 1_000_000),
  }),
  edgeAllowedAddresses: setting({
    meaning:
      'Addresses that [neither rule counts](#cloudfront-and-aws-waf), such as those of your own backends',
    values: list(
      v.pipe(v.string(), v.check(isBlock)),
      'blocks of addresses, such as 192.0.2.0/24, separated by commas',
    ),
  }),
  edgeManagedRules: setting({
    meaning:
      "AWS's own rules that AWS WAF [blocks requests by](#cloudfront-and-aws-waf), too: by the reputation of addresses, and by known attacks",
    values: list(
      v.picklist(managedRules),
      `some of ${managedRules.join(', ')}, separated by commas`,
    ),
  }),
  edgeLogs: setting({
    meaning:
      'Whether CloudFront logs each request, and AWS WAF [each that it blocks](watching.md#the-logs-of-the-edge)',
    values: trueOrFalse,
    default: false,
  }),
  edgeKmsKeyArn: setting({
    meaning: 'The key of your own for the origin secret and the logs of the edge',
    values: arn('kms', 'us-east-1', key, 'a KMS key in us-east-1'),
  }),
  ignoreAlarms: setting({
    meaning:
      'Lets this deployment go live [although an alarm is on](watching.md#when-an-alarm-blocks-the-fix)',
    values: trueOrFalse,
    default: false,
  }),
  loopbackProviders: setting({
    meaning:
      'Allows `http://127.0.0.1` addresses in provider settings. Only for tests, never in production',
    values: trueOrFalse,
    default: false,
  }),
});
