import * as v from 'valibot';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import type { Pin } from './pins.ts';
import { settingsSchema } from './setting-records.ts';
import type { GivenSettings } from './setting-types.ts';

export const settingNames = Object.keys(settingsSchema.entries);

/** The settings of a deployment, with what follows from its stage. */
export type Settings = GivenSettings & {
  removalPolicy: 'retain' | 'destroy';
  canary: boolean;
  change: Pin[];
};

/**
 * Settings that are often for one deployment alone: in an app of one's own, `-c name=value` sets
 * them without a change of its code.
 */
export const forOneDeployment = [
  'canary',
  'change',
  'ignoreAlarms',
  'tableName',
  'tableStreamArn',
] as const;

/** A settings file, named as people know it: `deployments/live.json`. */
export interface SettingsFile {
  file: string;
  values: Record<string, unknown>;
}

/**
 * The settings among the values of a CDK context (`cdk.json`, `-c name=value`), which override
 * those of a file.
 * @param replaced settings in whose place there are resources
 * @throws SettingsError naming the first setting that is wrong or unknown, and the file when it
 *   stands there
 */
export function readSettings(
  context: Record<string, unknown>,
  from?: SettingsFile,
  replaced: readonly string[] = [],
): Settings {
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
  return consistent(result.output, replaced);
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
    PROVIDER_TOKENS_PER_MINUTE: String(settings.providerTokensPerMinute),
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

/**
 * The CDK's own context: feature flags (`@aws-cdk/…`), its status (`aws:cdk:…`), its cached
 * lookups.
 */
const isOfCdk = (name: string): boolean =>
  /[@:]/.test(name) || ['acknowledged-issue-numbers', 'cli-telemetry'].includes(name);

/**
 * The settings with the defaults that their stage decides.
 * @throws SettingsError naming the first that does not fit the others
 */
function consistent(given: GivenSettings, replaced: readonly string[]): Settings {
  const isProduction = given.stage === 'production';
  const { removalPolicy = isProduction ? 'retain' : 'destroy', change = [] } = given;
  // A canary on a new table would write to both: a refresh token that is replaced in one looks
  // reused in the other.
  const isTableChanged = change.includes('tableName');
  const canary = (given.canary ?? isProduction) && !isTableChanged;
  requirePartners(given, replaced);
  requireRegion(given);
  if (isProduction && removalPolicy === 'destroy')
    throw new SettingsError('removalPolicy', 'must be retain in production');
  if (isProduction && given.loopbackProviders)
    throw new SettingsError('loopbackProviders', 'must be false in production');
  requireLimits(given);
  return { ...given, removalPolicy, canary, change };
}

/** Requires a key and a hook in the region of the deployment, as far as regions are known. */
function requireRegion({ region, kmsKeyArn = '', loginHook = '' }: GivenSettings): void {
  const isElsewhere = (arn: string): boolean => {
    const its = regionOf(arn);
    return region !== undefined && its !== undefined && its !== region;
  };
  if (isElsewhere(kmsKeyArn))
    throw new SettingsError('kmsKeyArn', 'must name a key in the region of the deployment');
  if (isElsewhere(loginHook))
    throw new SettingsError('loginHook', 'must name a function in the region of the deployment');
}

/** Requires the settings that others cannot do without, unless resources replace them. */
function requirePartners(given: GivenSettings, replaced: readonly string[]): void {
  const has = (name: keyof GivenSettings): boolean =>
    Boolean(given[name]) || replaced.includes(name);
  const { tableName, tableStreamArn, publishEvents } = given;
  if (has('domainName') && !has('certificateArn'))
    throw new SettingsError('certificateArn', 'must come with domainName');
  if (has('certificateArn') && !has('domainName'))
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
  if (!given.edge) return;
  for (const name of ['domainName', 'account', 'edgeCertificateArn'] as const)
    if (!has(name)) throw new SettingsError(name, 'must come with edge');
}

/** Requires limits that leave room for each other. */
function requireLimits(given: GivenSettings): void {
  if (given.sessionIdleSeconds > given.sessionAbsoluteSeconds)
    throw new SettingsError('sessionIdleSeconds', 'must be at most sessionAbsoluteSeconds');
  // While a deployment runs, the old and the new version both have theirs.
  const mostInstances = given.tokenReservedConcurrency ?? Infinity;
  if (2 * given.tokenConcurrency > mostInstances)
    throw new SettingsError('tokenReservedConcurrency', 'must be at least twice tokenConcurrency');
  const hasThroughput = given.warmReadUnits || given.warmWriteUnits || given.maxWriteUnits;
  if (given.tableName && hasThroughput)
    throw new SettingsError(
      'tableName',
      'must not come with warmReadUnits, warmWriteUnits or maxWriteUnits',
    );
}

/** The region in an ARN, if it has one: `arn:aws:kms:REGION:ACCOUNT:key/ID`. */
export const regionOf = (arn: string): string | undefined => arn.split(':')[3] || undefined;
