import * as v from 'valibot';
import { tokenAlgorithms } from '../../lib/signing/settings.ts';
import { originSecretHashesSchema } from '../settings/settings.ts';
import { startCommand } from '../version.ts';

/** The end of an error: what a variable must be, and what it is. */
const instead =
  (must: string) =>
  ({ input }: { input: unknown }): string =>
    `must be ${must}, not ${input}`;

const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) <= 65_535;
const isWebAddress = (text: string): boolean =>
  text === '' || /^https?:$/.test(URL.parse(text)?.protocol ?? '');

/** Whether an address leads to this machine alone, so that no event leaves it. */
function isLoopbackAddress(text: string): boolean {
  const { protocol, hostname = '' } = URL.parse(text) ?? {};
  return protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/** Schema of the environment variables that change how `npm start` runs the service. */
const startSettingsSchema = v.object({
  PORT: v.optional(
    v.pipe(v.string(), v.check(isPort, instead('a number from 0 to 65535')), v.transform(Number)),
  ),
  DYNAMODB_ENDPOINT: v.optional(
    v.pipe(v.string(), v.check(isWebAddress, instead('an address such as http://127.0.0.1:8000'))),
  ),
  EVENTS_TO: v.optional(
    v.pipe(
      v.string(),
      v.check(
        (text) => text === 'terminal' || isLoopbackAddress(text),
        instead('terminal or an address of this machine such as http://127.0.0.1:9000'),
      ),
    ),
  ),
  LOCAL_DATA: v.optional(v.string()),
  JOIN: v.optional(v.string()),
  LOGIN_HOOK: v.optional(v.string()),
  LOG_LEVEL: v.optional(v.picklist(['INFO', 'ERROR'], instead('INFO or ERROR'))),
  ORIGIN_SECRET_HASHES: v.optional(originSecretHashesSchema),
  TOKEN_ALGORITHM: v.optional(v.picklist(tokenAlgorithms, instead(tokenAlgorithms.join(' or ')))),
});

/** The environment variables of `npm start`. @throws Error naming the first one that is wrong, and what it must be */
export function readStartSettings(environment: object): v.InferOutput<typeof startSettingsSchema> {
  const { success, output, issues } = v.safeParse(startSettingsSchema, environment);
  if (success) return output;
  throw new Error(`${v.getDotPath(issues[0])} ${issues[0].message}.`);
}

/** A line about the flags of `npm start`, which has none; npm keeps those that stand before `--` to itself, as variables. */
export function flagsWithoutEffect(
  words: string[],
  environment: Record<string, string | undefined>,
): string | undefined {
  const names = Object.keys(startSettingsSchema.entries);
  const kept = names.filter((name) => environment[`npm_config_${name.toLowerCase()}`] !== undefined);
  const flags = [...kept.map((name) => `--${name.toLowerCase().replaceAll('_', '-')}`), ...words];
  if (flags.length === 0) return undefined;
  return `Ignored: ${flags.join(' ')}. ${startCommand} has no flags; set ${names.join(', ')} before it, as in PORT=4000 ${startCommand}.`;
}
