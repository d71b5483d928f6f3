import { isIP } from 'node:net';
import * as v from 'valibot';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import { defaultRecentLoginSeconds } from '../../lib/login-users/recent-login.ts';
import { mostSlots } from '../../lib/login-users/session-ids.ts';
import { tokenAlgorithms } from '../../lib/signing/settings.ts';
import { type Pin, pins } from './pins.ts';

/** A value of a file, or what a text stands for: the CDK passes what `-c` sets as text. */
const fromText = (convert: (text: string) => unknown) =>
  v.pipe(
    v.unknown(),
    v.transform((value) => (typeof value === 'string' ? convert(value) : value)),
  );

const numberSchema = fromText((text) => (/^\d{1,9}$/.test(text) ? Number(text) : text));

const whole = (least: number, most: number) =>
  v.message(
    v.pipe(numberSchema, v.number(), v.integer(), v.minValue(least), v.maxValue(most)),
    `must be a whole number from ${least} to ${most}`,
  );

const either = <const Names extends readonly string[]>(...names: Names) =>
  v.picklist(names, `must be ${names.join(' or ')}`);

const truthSchema = v.pipe(
  fromText((text) => (text === 'true' || text === 'false' ? text === 'true' : text)),
  v.boolean('must be true or false'),
);

/** Numbers of days for which CloudWatch Logs can keep a log group, other than for ever. */
const retentionDays = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288,
  3653,
] as const;

const numberAmong = <const Numbers extends readonly number[]>(numbers: Numbers) =>
  v.pipe(numberSchema, v.picklist(numbers, `must be one of ${numbers.join(', ')}`));

const percent = whole(1, 100);

/** A list, or a text with commas. */
const list = <Member extends v.GenericSchema>(member: Member, message: string) =>
  v.pipe(
    fromText((text) => text.split(',')),
    v.array(member, message),
  );

const text = (pattern: RegExp, message: string) =>
  v.message(v.pipe(v.string(), v.regex(pattern)), message);

const anyRegion = '[a-z\\d-]+';
const certificate = 'certificate/[\\w-]+';
const key = 'key/(mrk-[\\da-f]{32}|[\\da-f]{8}(-[\\da-f]{4}){3}-[\\da-f]{12})';

/** The ARN of a resource; its region and itself are regular expressions. */
const arn = (service: string, region: string, resource: string, what: string) =>
  text(
    new RegExp(`^arn:aws[\\w-]*:${service}:${region}:\\d{12}:${resource}$`),
    `must be the ARN of ${what}`,
  );

const tagPairs = 'must be an object of names and texts, or name=value pairs separated by commas';
const tagCharacters = '[\\p{L}\\p{Z}\\p{N}_.:/=+@-]';

/** The tags of a deployment. AWS allows 50, of which CloudFormation sets three and the stack one; `aws:` is its own prefix. */
const tagsSchema = v.pipe(
  // A value may contain `=`.
  fromText((text) => Object.fromEntries(text.split(',').map((pair) => pair.split(/=(.*)/s)))),
  v.record(
    text(new RegExp(`^(?!aws:)${tagCharacters}{1,128}$`, 'iu'), tagPairs),
    text(new RegExp(`^${tagCharacters}{0,256}$`, 'u'), tagPairs),
    tagPairs,
  ),
  v.check((tags) => Object.keys(tags).length > 0 && Object.keys(tags).length <= 46, tagPairs),
);

const year = 365 * 86_400;

/** Whether a text is a block of addresses in CIDR notation, but not that of all, which AWS WAF rejects. */
function isBlock(text: string): boolean {
  const [, address = '', length = ''] = text.match(/^([\da-f.:]+)\/([1-9]\d{0,2})$/i) ?? [];
  return isIP(address) !== 0 && Number(length) <= (isIP(address) === 4 ? 32 : 128);
}

const regionName = /^[a-z]{2}(-[a-z]+)+-\d$/;
const regions = 'must be names of regions, separated by commas';
const blocks = 'must be blocks of addresses, such as 192.0.2.0/24, separated by commas';

const originSecretHashesSchema = text(
  /^[0-9a-f]{64}(,[0-9a-f]{64})?$/,
  'must be one or two SHA-256 hashes in lower-case hex, separated by a comma',
);

/** The name of a deployment, which is that of its stack. */
export const deploymentName = text(
  /^[A-Za-z][A-Za-z0-9-]{0,39}$/,
  'must be letters, digits and hyphens, at most 40',
);

const changes = `must be some of ${pins.join(', ')}, separated by commas`;

/** Every setting of a deployment. The table of `docs/settings.md` is generated from the texts here. */
const settingsSchema = v.object({
  /** The settings file, and the name of the stack */
  deployment: v.optional(deploymentName),
  /** The name of the stack when there is no `deployment`. @default login-service */
  stack: v.optional(deploymentName, 'login-service'),
  /** The account of the deployment. The CDK then rejects credentials for another one */
  account: v.optional(text(/^\d{12}$/, 'must be the 12 digits of an AWS account')),
  /** The deployment's region. Requires `account` */
  region: v.optional(text(regionName, 'must be the name of a region')),
  /** The defaults of `removalPolicy` and `canary`. Without a stage, the defaults are the safe ones. @default production */
  stage: v.optional(either('production', 'development'), 'production'),
  /** Your own domain for the API. It is also the issuer of the tokens. Point its DNS record at the output `DomainTarget` */
  domainName: v.optional(text(/^([a-z0-9-]+\.)+[a-z]{2,}$/, 'must be a domain name in lower case')),
  /** The domain's certificate, in the stack's region */
  certificateArn: v.optional(arn('acm', anyRegion, certificate, 'an ACM certificate')),
  /** The algorithm of access tokens; [a change](operating.md#changing-the-algorithm-of-tokens) takes a day. @default RS256 */
  tokenAlgorithm: v.optional(either(...tokenAlgorithms), tokenAlgorithms[0]),
  /** The lifetime of an access token, in seconds. @default 3600 */
  accessTokenSeconds: v.optional(whole(60, 86_400), 3600),
  /** The idle timeout of a session, in seconds: a session that isn't refreshed for this long ends. @default 2592000 */
  sessionIdleSeconds: v.optional(whole(3600, year), 30 * 86_400),
  /** The longest lifetime of any session, in seconds. @default 31536000 */
  sessionAbsoluteSeconds: v.optional(whole(3600, 10 * year), year),
  /** Seconds for which a login [counts as recent](client-guide.md#log-in-again-first). `0` is for ever. @default 900 */
  recentLoginSeconds: v.optional(whole(0, year), defaultRecentLoginSeconds),
  /** The [`acr` values](providers.md#how-a-person-logged-in) of which a login needs one to link or unlink, or to delete the account */
  stepUpAcrValues: v.optional(
    text(/^[!#-[\]-~]+( [!#-[\]-~]+)*$/, 'must be acr values, separated by spaces'),
  ),
  /** The most open sessions of a person. One ends when the person has logged in this many times since. @default 100 */
  maxSessions: v.optional(whole(1, mostSlots), 100),
  /** How many seconds a [replaced refresh token](#replaced-refresh-tokens) is accepted again. Without it, there is no limit */
  refreshGraceSeconds: v.optional(whole(0, 30 * 86_400)),
  /** After how many seconds a [replaced refresh token](#replaced-refresh-tokens) is late. @default 60 */
  refreshReplaySeconds: v.optional(whole(1, 30 * 86_400), 60),
  /** The token route's throttling rate, in requests per second. @default 200 */
  tokenRateLimit: v.optional(whole(1, 100_000), 200),
  /** The token route's throttling burst, in requests. @default 400 */
  tokenBurstLimit: v.optional(whole(1, 100_000), 400),
  /** The throttling rate of the route that makes nonces, in requests per second. @default 100 */
  nonceRateLimit: v.optional(whole(1, 100_000), 100),
  /** The throttling burst of the route that makes nonces, in requests. @default 200 */
  nonceBurstLimit: v.optional(whole(1, 100_000), 200),
  /** The throttling rate of each route that links or unlinks an identity, in requests per second. @default 20 */
  identityRateLimit: v.optional(whole(1, 100_000), 20),
  /** The throttling burst of each route that links or unlinks an identity, in requests. @default 40 */
  identityBurstLimit: v.optional(whole(1, 100_000), 40),
  /** The throttling rate of the route for provider notifications, in requests per second. @default 20 */
  notificationRateLimit: v.optional(whole(1, 100_000), 20),
  /** The throttling burst of the route for provider notifications, in requests. @default 40 */
  notificationBurstLimit: v.optional(whole(1, 100_000), 40),
  /** The throttling rate of `/openapi.json`, in requests per second. @default 2 */
  documentRateLimit: v.optional(whole(1, 100_000), 2),
  /** The throttling burst of `/openapi.json`, in requests. @default 5 */
  documentBurstLimit: v.optional(whole(1, 100_000), 5),
  /** The name or ARN of [your Lambda function](login-hook.md) that decides about logins, perhaps with an alias */
  loginHook: v.optional(
    text(
      /^(arn:aws[\w-]*:lambda:[\w-]+:\d{12}:function:)?[\w-]{1,64}(:[\w-]{1,128})?$/,
      'must be the name or ARN of a Lambda function, perhaps with an alias',
    ),
  ),
  /** Whether the login hook is asked at each refresh, too, or only at logins and links. @default refresh */
  loginHookOn: v.optional(either('login', 'refresh'), 'refresh'),
  /** The time that the login hook may take, in seconds. @default 3 */
  loginHookSeconds: v.optional(whole(1, 5), 3),
  /** Whether access tokens contain the `external_id` of [imported people](importing.md#people), as `ext_id`. @default false */
  externalIdInTokens: v.optional(truthSchema, false),
  /** Whether [published events](events.md) contain the `external_id` of [imported people](importing.md#people). @default false */
  externalIdInEvents: v.optional(truthSchema, false),
  /** The throttling rate of each other route, in requests per second. @default 1000 */
  rateLimit: v.optional(whole(1, 100_000), 1000),
  /** The throttling burst of each other route, in requests. @default 2000 */
  burstLimit: v.optional(whole(1, 100_000), 2000),
  /** Retention in days of the logs of functions, requests and the edge, which are all but the audit log. @default 90 */
  logRetentionDays: v.optional(numberAmong(retentionDays), 90),
  /** Retention in days of the [audit log](watching.md#the-audit-log). @default 400 */
  auditRetentionDays: v.optional(numberAmong(retentionDays), 400),
  /** [A key of your own](#a-key-of-your-own) that encrypts the table, the secrets, the logs, the alarm topic and the queues */
  kmsKeyArn: v.optional(arn('kms', anyRegion, key, 'a KMS key')),
  /** [Tags](#tags) of everything that the deployment creates */
  tags: v.optional(tagsSchema),
  /** Recipient of an e-mail when an alarm goes off or ends. They must confirm the subscription */
  alarmEmail: v.optional(v.message(v.pipe(v.string(), v.email()), 'must be an e-mail address')),
  /** The share of 5xx, in per cent, at which [ServerErrors and ServerErrorsOf…](watching.md#alarms) go off. @default 1 */
  alarmErrorPercent: v.optional(percent, 1),
  /** The fewest errors, throttles or failures in a period at which an alarm about a share goes off. @default 5 */
  alarmFewest: v.optional(whole(1, 100_000), 5),
  /** The latency (p99), in milliseconds, at which the alarm Latency goes off. @default 3000 */
  alarmLatencyMilliseconds: v.optional(whole(1, 10_000), 3000),
  /** The share of throttled invocations, table or route requests, in per cent, at which their alarms go off. @default 1 */
  alarmThrottledPercent: v.optional(percent, 1),
  /** The share of failed provider calls, in per cent, at which the alarm ProviderFailures goes off. @default 2 */
  alarmProviderFailurePercent: v.optional(percent, 2),
  /** How many outdated refresh tokens per 100 refreshes set off the alarm RefreshTokensReused. @default 1 */
  alarmReusedPercent: v.optional(percent, 1),
  /** The share of repeated refresh tokens, in per cent, at which the alarm RefreshTokensRepeated goes off. @default 10 */
  alarmRepeatedPercent: v.optional(percent, 10),
  /** The share of refused public clients, in per cent of token requests, at which PublicClientsRefused goes off. @default 20 */
  alarmPublicRefusalPercent: v.optional(percent, 20),
  /** The share of requests with a wrong secret, in per cent, at which the alarm WrongSecrets goes off. @default 1 */
  alarmWrongSecretPercent: v.optional(percent, 1),
  /** Whether the table, secrets and audit log outlive the stack. @default `retain` in production, `destroy` in development */
  removalPolicy: v.optional(either('retain', 'destroy')),
  /** An existing table, such as [a restored one](maintenance.md#restore-the-table), to use instead of the stack's own */
  tableName: v.optional(text(/^[\w.-]{3,255}$/, 'must be the name of a table')),
  /** The stream of the table that `tableName` names */
  tableStreamArn: v.optional(
    arn('dynamodb', anyRegion, 'table/[\\w.-]+/stream/[\\w:.-]+', 'the stream of a table'),
  ),
  /** Whether to [publish events](events.md) on an event bus. @default true */
  publishEvents: v.optional(truthSchema, true),
  /** How many days the bus keeps [an archive of the events](events.md#an-archive). Without it, there is none */
  archiveDays: v.optional(whole(1, 3650)),
  /** Settings that this deployment [changes on purpose](#what-a-stack-keeps). Never in the file */
  change: v.optional(list(v.picklist(pins, changes), changes)),
  /** [Instances of the token function](#provisioned-concurrency) that are kept warm and billed by the hour. @default 0 */
  tokenConcurrency: v.optional(whole(0, 1000), 0),
  /** [Reserved concurrency](capacity.md#before-a-launch) of the token function: its own instances, and the most it can have */
  tokenReservedConcurrency: v.optional(whole(1, 100_000)),
  /** [Warm throughput](capacity.md#before-a-launch) of the table: read units per second that it accepts at once */
  warmReadUnits: v.optional(whole(12_000, 10_000_000)),
  /** [Warm throughput](capacity.md#before-a-launch) of the table: write units per second that it accepts at once */
  warmWriteUnits: v.optional(whole(4_000, 10_000_000)),
  /** Most write units per second that the table accepts, as [a limit of its costs](capacity.md#before-a-launch) */
  maxWriteUnits: v.optional(whole(1, 10_000_000)),
  /** Regions for replicas of the secrets, for [a second region](maintenance.md#a-second-region). The stack's own is ignored */
  replicaRegions: v.optional(list(text(regionName, regions), regions)),
  /** Whether X-Ray samples invocations of the functions. HTTP APIs don't support it. @default false */
  tracing: v.optional(truthSchema, false),
  /** Whether [a canary](#what-the-canary-catches) tries new versions. @default `true` in production, `false` in development */
  canary: v.optional(truthSchema),
  /** How many minutes a new version gets a tenth of the requests. More [catch more](#what-the-canary-catches). @default 15 */
  canaryMinutes: v.optional(numberAmong([5, 10, 15, 30]), 15),
  /** How many functions [go live at the same time](#how-long-a-deployment-takes). @default 5 */
  canariesAtOnce: v.optional(whole(1, 50), 5),
  /** The SHA-256 of [the origin secret](#origin-secret) that requests need, or of two during a rotation */
  originSecretHashes: v.optional(originSecretHashesSchema),
  /** The version of the origin secret that CloudFront sends. Only to [rotate it](#rotate-the-secret) */
  originSecretVersion: v.optional(
    text(/^[\w-]{32,64}$/, 'must be the id of a version of the origin secret'),
  ),
  /** Puts [CloudFront and AWS WAF](#cloudfront-and-aws-waf) in front, as a second stack. @default false */
  edge: v.optional(truthSchema, false),
  /** The domain's certificate for CloudFront */
  edgeCertificateArn: v.optional(
    arn('acm', 'us-east-1', certificate, 'an ACM certificate in us-east-1'),
  ),
  /** How many requests one address may send in five minutes before AWS WAF blocks it. @default 2000 */
  edgeRateLimit: v.optional(whole(10, 1_000_000), 2000),
  /** How many requests to the token route one address may send in five minutes. Without it, `edgeRateLimit` alone counts them */
  edgeTokenRateLimit: v.optional(whole(10, 1_000_000)),
  /** Addresses that [neither rule counts](#cloudfront-and-aws-waf), such as those of your own backends */
  edgeAllowedAddresses: v.optional(
    list(v.pipe(v.string(blocks), v.check(isBlock, blocks)), blocks),
  ),
  /** Whether CloudFront logs each request, and AWS WAF [each that it blocks](watching.md#the-logs-of-the-edge). @default false */
  edgeLogs: v.optional(truthSchema, false),
  /** The key of your own for the origin secret and the logs of the edge */
  edgeKmsKeyArn: v.optional(arn('kms', 'us-east-1', key, 'a KMS key in us-east-1')),
  /** Lets this deployment go live [although an alarm is on](watching.md#when-an-alarm-blocks-the-fix). @default false */
  ignoreAlarms: v.optional(truthSchema, false),
  /** Allows `http://127.0.0.1` addresses in provider settings. Only for tests, never in production. @default false */
  loopbackProviders: v.optional(truthSchema, false),
});

export const settingNames = Object.keys(settingsSchema.entries);

type Given = v.InferOutput<typeof settingsSchema>;

/** The entries but those of the stack that the service is in. */
type Entries = Omit<
  typeof settingsSchema.entries,
  'deployment' | 'stack' | 'account' | 'region' | 'tags'
>;

/** The settings of a service; all are optional. */
export type ServiceSettings = {
  [Name in keyof Entries]?: v.InferOutput<Entries[Name]> | undefined;
};

/** The settings of a deployment, with what follows from its stage. */
export type Settings = Given & {
  removalPolicy: 'retain' | 'destroy';
  canary: boolean;
  change: Pin[];
};

/** A settings file, named as people know it: `deployments/live.json`. */
export interface SettingsFile {
  file: string;
  values: Record<string, unknown>;
}

/**
 * The settings among the values of a CDK context (`cdk.json`, `-c name=value`), which override those of a file.
 * @throws SettingsError naming the first setting that is wrong or unknown, and the file when it stands there
 */
export function readSettings(context: Record<string, unknown>, from?: SettingsFile): Settings {
  const fileOf = (name: string): string | undefined => (name in context ? undefined : from?.file);
  const ours = Object.keys(context).filter((name) => !isOfCdk(name));
  const unknown = [...Object.keys(from?.values ?? {}), ...ours].find(
    (name) => !settingNames.includes(name),
  );
  if (unknown)
    throw new SettingsError(
      unknown,
      'is unknown; docs/settings.md lists them all',
      fileOf(unknown),
    );
  const result = v.safeParse(settingsSchema, { ...from?.values, ...context });
  if (!result.success) {
    const [issue] = result.issues;
    const [{ key }] = issue.path ?? [{ key: '' }];
    throw new SettingsError(String(key), issue.message, fileOf(String(key)));
  }
  return consistent(result.output);
}

/** The environment variables about tokens and sessions. */
export const tokenVariables = (settings: Settings): Record<string, string> =>
  definedOnly({
    TOKEN_ALGORITHM: settings.tokenAlgorithm,
    ACCESS_TOKEN_SECONDS: String(settings.accessTokenSeconds),
    SESSION_IDLE_SECONDS: String(settings.sessionIdleSeconds),
    SESSION_ABSOLUTE_SECONDS: String(settings.sessionAbsoluteSeconds),
    RECENT_LOGIN_SECONDS: String(settings.recentLoginSeconds),
    MAX_SESSIONS: String(settings.maxSessions),
    STEP_UP_ACR_VALUES: settings.stepUpAcrValues,
    EXTERNAL_ID_IN_TOKENS: settings.externalIdInTokens ? 'true' : undefined,
    REFRESH_GRACE_SECONDS: settings.refreshGraceSeconds?.toString(),
    REFRESH_REPLAY_SECONDS: String(settings.refreshReplaySeconds),
  });

/** Says what is wrong with a setting, in one line that never holds its value. */
export class SettingsError extends Error {
  readonly setting: string;
  /** The end of the line: `must be true or false`. */
  readonly problem: string;

  constructor(setting: string, problem: string, file?: string) {
    super(`The setting ${setting}${file ? ` in ${file}` : ''} ${problem}.`);
    this.setting = setting;
    this.problem = problem;
  }
}

/** The CDK's own context: feature flags (`@aws-cdk/…`), its status (`aws:cdk:…`), its cached lookups. */
const isOfCdk = (name: string): boolean =>
  /[@:]/.test(name) || ['acknowledged-issue-numbers', 'cli-telemetry'].includes(name);

function consistent(given: Given): Settings {
  const isProduction = given.stage === 'production';
  const { domainName, certificateArn, tableName, tableStreamArn, publishEvents } = given;
  const { removalPolicy = isProduction ? 'retain' : 'destroy', change = [] } = given;
  // A canary on a new table would write to both: a refresh token that is replaced in one looks reused in the other.
  const canary = (given.canary ?? isProduction) && !change.includes('tableName');
  if (domainName && !certificateArn)
    throw new SettingsError('certificateArn', 'must come with domainName');
  if (certificateArn && !domainName)
    throw new SettingsError('domainName', 'must come with certificateArn');
  if (tableStreamArn && !tableName)
    throw new SettingsError('tableName', 'must come with tableStreamArn');
  if (tableName && publishEvents && !tableStreamArn)
    throw new SettingsError(
      'tableStreamArn',
      'must come with tableName, unless publishEvents is false',
    );
  if (given.archiveDays && !publishEvents)
    throw new SettingsError('archiveDays', 'must come with publishEvents');
  if (given.account && !given.region) throw new SettingsError('region', 'must come with account');
  if (given.region && !given.account) throw new SettingsError('account', 'must come with region');
  for (const name of given.edge ? (['domainName', 'account', 'edgeCertificateArn'] as const) : []) {
    if (!given[name]) throw new SettingsError(name, 'must come with edge');
  }
  if (given.region && given.kmsKeyArn && given.kmsKeyArn.split(':')[3] !== given.region)
    throw new SettingsError('kmsKeyArn', 'must name a key in the region of the deployment');
  if (isProduction && removalPolicy === 'destroy')
    throw new SettingsError('removalPolicy', 'must be retain in production');
  if (isProduction && given.loopbackProviders)
    throw new SettingsError('loopbackProviders', 'must be false in production');
  if (given.sessionIdleSeconds > given.sessionAbsoluteSeconds)
    throw new SettingsError('sessionIdleSeconds', 'must be at most sessionAbsoluteSeconds');
  // While a deployment runs, the old and the new version both have theirs.
  if (2 * given.tokenConcurrency > (given.tokenReservedConcurrency ?? Infinity))
    throw new SettingsError('tokenReservedConcurrency', 'must be at least twice tokenConcurrency');
  if (tableName && (given.warmReadUnits || given.warmWriteUnits || given.maxWriteUnits))
    throw new SettingsError(
      'tableName',
      'must not come with warmReadUnits, warmWriteUnits or maxWriteUnits',
    );
  return { ...given, removalPolicy, canary, change };
}
