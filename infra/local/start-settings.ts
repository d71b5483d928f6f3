import { networkInterfaces } from 'node:os';
import * as v from 'valibot';
import { readSettings, SettingsError } from '../settings/settings.ts';
import { everyAddress, loopback } from './loopback-server.ts';

/** The message about a value: what the variable must be, and what it is. */
const instead =
  (must: string) =>
  ({ input }: { input: unknown }): string =>
    `must be ${must}, not ${JSON.stringify(input)}`;

const text = (fits: (given: string) => boolean, must: string) =>
  v.pipe(v.string(), v.check(fits, instead(must)));

const isPort = (given: string): boolean => /^\d{1,5}$/.test(given) && Number(given) <= 65_535;
const isWebAddress = (given: string): boolean => /^https?:$/.test(URL.parse(given)?.protocol ?? '');
const isHostName = (given: string): boolean => /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(given);

/** Whether events go nowhere but to the terminal and this machine. */
function isNear(given: string): boolean {
  if (given === 'terminal') return true;
  const { protocol, hostname = '' } = URL.parse(given) ?? {};
  return protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/** The addresses by which other machines on the network reach this one. */
const ownAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap((addresses = []) => addresses)
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address);

const isOwnAddress = (given: string): boolean =>
  [loopback, everyAddress, ...ownAddresses()].includes(given);

const near = 'terminal or an address of this machine such as http://127.0.0.1:9000';
const hosts = `${loopback} (the default), ${everyAddress} for the whole network, or an address of this machine`;
const names = 'names of hosts without ports, separated by commas, such as my-machine.local';

/** The variables that only `npm start` has. */
const ownSchema = v.object({
  PORT: v.optional(v.pipe(text(isPort, 'a whole number from 0 to 65535'), v.transform(Number))),
  HOST: v.optional(text(isOwnAddress, hosts)),
  HOSTS: v.optional(text((given) => given.split(',').every(isHostName), names)),
  DYNAMODB_ENDPOINT: v.optional(text(isWebAddress, 'an address such as http://127.0.0.1:8000')),
  EVENTS_TO: v.optional(text(isNear, near)),
  LOCAL_DATA: v.optional(v.string()),
  LOCAL_DIR: v.optional(v.string()),
  JOIN: v.optional(v.string()),
  LOGIN_HOOK: v.optional(v.string()),
  LOG_LEVEL: v.optional(v.picklist(['INFO', 'ERROR'], instead('INFO or ERROR'))),
  AWS_CALL_MILLISECONDS: v.optional(
    text((given) => /^[1-9]\d{0,8}$/.test(given), 'a whole number of milliseconds'),
  ),
});

/**
 * Settings of a deployment that `npm start` reads from a variable each: `refreshReplaySeconds` from
 * REFRESH_REPLAY_SECONDS.
 */
const deploymentSettings = [
  'tokenAlgorithm',
  'accessTokenSeconds',
  'sessionIdleSeconds',
  'sessionAbsoluteSeconds',
  'recentLoginSeconds',
  'stepUpAcrValues',
  'maxSessions',
  'refreshGraceSeconds',
  'refreshReplaySeconds',
  'providerTokensPerMinute',
  'loginHookOn',
  'loginHookSeconds',
  'externalIdInTokens',
  'externalIdInEvents',
  'originSecretHashes',
] as const;

const variableOf = (setting: string): string => setting.replace(/[A-Z]/g, '_$&').toUpperCase();

/** The names of all variables of `npm start`. */
export const startVariables = [
  ...Object.keys(ownSchema.entries),
  ...deploymentSettings.map(variableOf),
];

/** The names of those that functions read. */
export const functionVariables = [
  ...deploymentSettings.map(variableOf),
  'AWS_CALL_MILLISECONDS',
  'LOGIN_HOOK',
  'LOG_LEVEL',
];

/**
 * Reads the variables of `npm start`. An empty one counts as one that isn't set, and is removed, so
 * that no function reads it.
 * @returns the variables that only `npm start` has
 * @throws Error naming the first variable that is wrong, and what it must be
 */
export function readStartSettings(environment: NodeJS.ProcessEnv): v.InferOutput<typeof ownSchema> {
  for (const name of startVariables) if (environment[name] === '') delete environment[name];
  checkDeploymentSettings(environment);
  const { success, output, issues } = v.safeParse(ownSchema, environment);
  if (success) return output;
  throw new Error(`${v.getDotPath(issues[0])} ${issues[0].message}.`);
}

/**
 * @throws Error when a deployment would reject a value; it may be a secret, so it is not repeated
 */
function checkDeploymentSettings(environment: NodeJS.ProcessEnv): void {
  const given = deploymentSettings.flatMap((setting) => {
    const value = environment[variableOf(setting)];
    return value === undefined ? [] : [[setting, value]];
  });
  try {
    readSettings(Object.fromEntries(given));
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    // One setting may be the limit of another.
    const problem = error.problem.replaceAll(/\b[a-z]+[A-Z]\w*/g, variableOf);
    throw new Error(`${variableOf(error.setting)} ${problem}.`);
  }
}

/**
 * The address by which others reach this machine when it listens at `HOST`.
 * @throws Error when it has no network
 */
export function addressOf(host: string): string {
  if (host !== everyAddress) return host;
  const [first] = ownAddresses();
  if (first !== undefined) return first;
  throw new Error(
    `HOST is ${everyAddress}, but this machine has no address on a network. Leave HOST out.`,
  );
}
