import { isIP } from 'node:net';
import * as v from 'valibot';
import { largestRing } from '../../lib/foundation/ids.ts';
import { defaultRecentLoginSeconds } from '../../lib/login-users/recent-login.ts';
import { tokenAlgorithms } from '../../lib/signing/settings.ts';
import { type Pin, pins } from './pins.ts';
import { tagsSchema } from './tags.ts';

/** A whole number; the CDK passes what `-c` sets as text. */
const whole = (least: number, most: number) => {
  const message = `must be a whole number from ${least} to ${most}`;
  return v.pipe(
    v.unknown(),
    v.transform((value) => (typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value)),
    v.number(message),
    v.integer(message),
    v.minValue(least, message),
    v.maxValue(most, message),
  );
};

const truthSchema = v.pipe(
  v.unknown(),
  v.transform((value) => (value === 'true' || value === 'false' ? value === 'true' : value)),
  v.boolean('must be true or false'),
);

/** Numbers of days for which CloudWatch Logs can keep a log group, other than for ever. */
const retentionDays = [
  ...[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731],
  ...[1096, 1827, 2192, 2557, 2922, 3288, 3653],
] as const;

/** One of some numbers; the CDK passes what `-c` sets as text. */
const oneOf = <const Numbers extends readonly number[]>(numbers: Numbers) =>
  v.pipe(
    v.unknown(),
    v.transform((value) => (typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : value)),
    v.picklist(numbers, `must be one of ${numbers.join(', ')}`),
  );

/** CodeDeploy's own canaries of a tenth of the requests last for as many minutes. */
const canaryMinutes = [5, 10, 15, 30] as const;

const percent = whole(1, 100);

const text = (pattern: RegExp, message: string) => v.pipe(v.string(message), v.regex(pattern, message));

const keyId = 'mrk-[\\da-f]{32}|[\\da-f]{8}(-[\\da-f]{4}){3}-[\\da-f]{12}';

const keyArn = (region: RegExp, message: string) =>
  text(new RegExp(`^arn:aws[\\w-]*:kms:${region.source}:\\d{12}:key/(${keyId})$`), message);

const year = 365 * 86_400;

/** Whether a text is a block of addresses in CIDR notation; AWS WAF takes none of all addresses. */
function isBlock(text: string): boolean {
  const [, address = '', length = ''] = text.match(/^([\da-f.:]+)\/([1-9]\d{0,2})$/i) ?? [];
  return isIP(address) !== 0 && Number(length) <= (isIP(address) === 4 ? 32 : 128);
}

const blocks = 'must be blocks of addresses, such as 192.0.2.0/24, separated by commas';

/** The hashes of the origin secrets that a request may prove to know. */
export const originSecretHashesSchema = text(
  /^[0-9a-f]{64}(,[0-9a-f]{64})?$/,
  'must be one or two SHA-256 hashes in lower-case hex, separated by a comma',
);

/** The name of a deployment, which is that of its stack. */
export const deploymentName = text(
  /^[A-Za-z][A-Za-z0-9-]{0,39}$/,
  'must be letters, digits and hyphens, at most 40',
);

const changes = `must be some of ${pins.join(', ')}, separated by commas`;

/** Every setting of a deployment. `docs/settings.md` says what each is for; a test keeps the two equal. */
const settingsSchema = v.object({
  deployment: v.optional(deploymentName),
  stack: v.optional(deploymentName, 'login-service'),
  account: v.optional(text(/^\d{12}$/, 'must be the 12 digits of an AWS account')),
  region: v.optional(text(/^[a-z]{2}(-[a-z]+)+-\d$/, 'must be the name of a region')),
  stage: v.optional(
    v.picklist(['production', 'development'], 'must be production or development'),
    'production',
  ),
  domainName: v.optional(text(/^([a-z0-9-]+\.)+[a-z]{2,}$/, 'must be a domain name in lower case')),
  certificateArn: v.optional(
    text(/^arn:aws[\w-]*:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/, 'must be the ARN of an ACM certificate'),
  ),
  tokenAlgorithm: v.optional(v.picklist(tokenAlgorithms, 'must be RS256 or ES256'), tokenAlgorithms[0]),
  accessTokenSeconds: v.optional(whole(60, 86_400), 3600),
  sessionIdleSeconds: v.optional(whole(3600, year), 30 * 86_400),
  sessionAbsoluteSeconds: v.optional(whole(3600, 10 * year), year),
  recentLoginSeconds: v.optional(whole(0, year), defaultRecentLoginSeconds),
  stepUpAcrValues: v.optional(
    text(/^[!#-[\]-~]+( [!#-[\]-~]+)*$/, 'must be acr values, separated by spaces'),
  ),
  maxSessions: v.optional(whole(1, largestRing), 100),
  refreshGraceSeconds: v.optional(whole(0, 30 * 86_400)),
  refreshReplaySeconds: v.optional(whole(1, 30 * 86_400), 60),
  tokenRateLimit: v.optional(whole(1, 100_000), 200),
  tokenBurstLimit: v.optional(whole(1, 100_000), 400),
  identityRateLimit: v.optional(whole(1, 100_000), 20),
  identityBurstLimit: v.optional(whole(1, 100_000), 40),
  notificationRateLimit: v.optional(whole(1, 100_000), 20),
  notificationBurstLimit: v.optional(whole(1, 100_000), 40),
  documentRateLimit: v.optional(whole(1, 100_000), 2),
  documentBurstLimit: v.optional(whole(1, 100_000), 5),
  rateLimit: v.optional(whole(1, 100_000), 1000),
  burstLimit: v.optional(whole(1, 100_000), 2000),
  logRetentionDays: v.optional(oneOf(retentionDays), 90),
  auditRetentionDays: v.optional(oneOf(retentionDays), 400),
  kmsKeyArn: v.optional(keyArn(/[a-z\d-]+/, 'must be the ARN of a KMS key')),
  tags: v.optional(tagsSchema),
  alarmEmail: v.optional(v.pipe(v.string('must be an e-mail address'), v.email('must be an e-mail address'))),
  alarmErrorPercent: v.optional(percent, 1),
  alarmFewest: v.optional(whole(1, 100_000), 5),
  alarmLatencyMilliseconds: v.optional(whole(1, 10_000), 3000),
  alarmThrottledPercent: v.optional(percent, 1),
  alarmProviderFailurePercent: v.optional(percent, 2),
  alarmReusedPercent: v.optional(percent, 1),
  alarmRepeatedPercent: v.optional(percent, 10),
  alarmWrongSecretPercent: v.optional(percent, 1),
  removalPolicy: v.optional(v.picklist(['retain', 'destroy'], 'must be retain or destroy')),
  tableName: v.optional(text(/^[\w.-]{3,255}$/, 'must be the name of a table')),
  tableStreamArn: v.optional(
    text(
      /^arn:aws[\w-]*:dynamodb:[\w-]+:\d{12}:table\/[\w.-]+\/stream\/[\w:.-]+$/,
      'must be the ARN of the stream of a table',
    ),
  ),
  publishEvents: v.optional(truthSchema, true),
  archiveDays: v.optional(whole(1, 3650)),
  change: v.optional(
    v.pipe(
      v.string(changes),
      v.transform((list) => list.split(',')),
      v.array(v.picklist(pins, changes)),
    ),
  ),
  tokenConcurrency: v.optional(whole(0, 1000), 0),
  tokenReservedConcurrency: v.optional(whole(1, 100_000)),
  warmReadUnits: v.optional(whole(12_000, 10_000_000)),
  warmWriteUnits: v.optional(whole(4_000, 10_000_000)),
  maxWriteUnits: v.optional(whole(1, 10_000_000)),
  replicaRegions: v.optional(
    text(/^[a-z]{2}(-[a-z]+)+-\d(,[a-z]{2}(-[a-z]+)+-\d)*$/, 'must be names of regions, separated by commas'),
  ),
  tracing: v.optional(truthSchema, false),
  canary: v.optional(truthSchema),
  canaryMinutes: v.optional(oneOf(canaryMinutes), canaryMinutes[0]),
  canariesAtOnce: v.optional(whole(1, 50), 5),
  originSecretHashes: v.optional(originSecretHashesSchema),
  originSecretVersion: v.optional(text(/^[\w-]{32,64}$/, 'must be the id of a version of the origin secret')),
  edge: v.optional(truthSchema, false),
  edgeCertificateArn: v.optional(
    text(
      /^arn:aws[\w-]*:acm:us-east-1:\d{12}:certificate\/[\w-]+$/,
      'must be the ARN of an ACM certificate in us-east-1',
    ),
  ),
  edgeRateLimit: v.optional(whole(10, 1_000_000), 2000),
  edgeTokenRateLimit: v.optional(whole(10, 1_000_000)),
  edgeAllowedAddresses: v.optional(
    v.pipe(
      v.string(blocks),
      v.transform((list) => list.split(',')),
      v.array(v.pipe(v.string(), v.check(isBlock, blocks))),
    ),
  ),
  edgeLogs: v.optional(truthSchema, false),
  edgeKmsKeyArn: v.optional(keyArn(/us-east-1/, 'must be the ARN of a KMS key in us-east-1')),
  ignoreAlarms: v.optional(truthSchema, false),
  loopbackProviders: v.optional(truthSchema, false),
});

export const settingNames = Object.keys(settingsSchema.entries);

type Given = v.InferOutput<typeof settingsSchema>;

/** The settings of a deployment, with what follows from its stage. */
export type Settings = Given & {
  removalPolicy: 'retain' | 'destroy';
  canary: boolean;
  change: readonly Pin[];
};

/** The source of settings that are not from the command line. */
export interface SettingsFile {
  /** The name of the setting for people. */
  file: string;
  values: Record<string, unknown>;
}

/**
 * The settings among the values of a CDK context (`cdk.json`, `-c name=value`), which override those of a file.
 * @throws SettingsError naming the first setting that is wrong or unknown, and the file when it stands there
 */
export function readSettings(context: Record<string, unknown>, from?: SettingsFile): Settings {
  const fileOf = (name: string): string | undefined => (name in context ? undefined : from?.file);
  const unknown =
    Object.keys(from?.values ?? {}).find((name) => !isKnown(name)) ??
    Object.keys(context).find((name) => !isKnown(name) && !isOfCdk(name));
  if (unknown)
    throw new SettingsError(unknown, 'is unknown; docs/settings.md lists them all', fileOf(unknown));
  const result = v.safeParse(settingsSchema, { ...from?.values, ...context });
  if (!result.success) {
    const [issue] = result.issues;
    const [{ key }] = issue.path ?? [{ key: '' }];
    throw new SettingsError(String(key), issue.message, fileOf(String(key)));
  }
  return consistent(result.output);
}

const isKnown = (name: string): boolean => settingNames.includes(name);

/** The environment variables about tokens and sessions. */
export const tokenVariables = (settings: Settings): Record<string, string> => ({
  TOKEN_ALGORITHM: settings.tokenAlgorithm,
  ACCESS_TOKEN_SECONDS: String(settings.accessTokenSeconds),
  SESSION_IDLE_SECONDS: String(settings.sessionIdleSeconds),
  SESSION_ABSOLUTE_SECONDS: String(settings.sessionAbsoluteSeconds),
  RECENT_LOGIN_SECONDS: String(settings.recentLoginSeconds),
  MAX_SESSIONS: String(settings.maxSessions),
  ...(settings.stepUpAcrValues !== undefined && { STEP_UP_ACR_VALUES: settings.stepUpAcrValues }),
  ...(settings.refreshGraceSeconds !== undefined && {
    REFRESH_GRACE_SECONDS: String(settings.refreshGraceSeconds),
  }),
  REFRESH_REPLAY_SECONDS: String(settings.refreshReplaySeconds),
});

/** Says what is wrong with a setting, in one line that never holds its value. */
export class SettingsError extends Error {
  constructor(name: string, message: string, file?: string) {
    super(`The setting ${name}${file ? ` in ${file}` : ''} ${message}.`);
  }
}

/** The CDK's own context: feature flags (`@aws-cdk/…`), its status (`aws:cdk:…`), its cached lookups. */
const isOfCdk = (name: string): boolean =>
  /[@:]/.test(name) || ['acknowledged-issue-numbers', 'cli-telemetry'].includes(name);

function consistent(given: Given): Settings {
  const isProduction = given.stage === 'production';
  const {
    removalPolicy = isProduction ? 'retain' : 'destroy',
    domainName,
    certificateArn,
    change = [],
  } = given;
  // A canary on a new table would write to both: a refresh token that is replaced in one looks reused in the other.
  const canary = (given.canary ?? isProduction) && !change.includes('tableName');
  if (domainName && !certificateArn) throw new SettingsError('certificateArn', 'must come with domainName');
  if (certificateArn && !domainName) throw new SettingsError('domainName', 'must come with certificateArn');
  if (given.tableStreamArn && !given.tableName)
    throw new SettingsError('tableName', 'must come with tableStreamArn');
  if (given.tableName && given.publishEvents && !given.tableStreamArn)
    throw new SettingsError('tableStreamArn', 'must come with tableName, unless publishEvents is false');
  if (given.archiveDays && !given.publishEvents)
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
  const {
    tokenReservedConcurrency = Infinity,
    tableName,
    warmReadUnits,
    warmWriteUnits,
    maxWriteUnits,
  } = given;
  // While a deployment runs, the old and the new version both have theirs.
  if (2 * given.tokenConcurrency > tokenReservedConcurrency)
    throw new SettingsError('tokenReservedConcurrency', 'must be at least twice tokenConcurrency');
  if (tableName && (warmReadUnits || warmWriteUnits || maxWriteUnits))
    throw new SettingsError('tableName', 'must not come with warmReadUnits, warmWriteUnits or maxWriteUnits');
  return { ...given, removalPolicy, canary, change };
}
