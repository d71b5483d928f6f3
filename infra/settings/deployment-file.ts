import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { decodeUtf8 } from '../../lib/foundation/utf8.ts';
import { placeOfJsonError } from '../operator/files/place-of-json-error.ts';
import { encodingProblem } from '../operator/files/utf8-file.ts';
import { projectFolder } from '../version.ts';
import { readSettings, type Settings, SettingsError, type SettingsFile } from './settings.ts';
import { deploymentName } from './values.ts';

export const deploymentFolder = join(projectFolder, 'deployments');

/**
 * Settings that a file cannot have: its name says the first two, and the others are about one
 * update only.
 */
const notInFile = ['deployment', 'stack', 'change', 'ignoreAlarms'];

const objectSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.check((json) => !Array.isArray(json)),
  v.record(v.string(), v.unknown()),
);

/**
 * The settings of `deployments/NAME.json` for `-c deployment=NAME`, overridden by the context, with
 * the stack NAME. Without a deployment, those of the context alone, unless there is a file that
 * they would bypass.
 * @throws SettingsError
 */
export function readDeployment(
  context: Record<string, unknown>,
  folder = deploymentFolder,
): Settings {
  if (context.deployment === undefined) {
    const settings = readSettings(context);
    const { stack } = settings;
    const file = `${stack}.json`;
    if (!existsSync(join(folder, file))) return settings;
    throw new SettingsError(
      'deployment',
      `must be ${stack}, since there is a file deployments/${file}`,
    );
  }
  const { success, issues, output: stack } = v.safeParse(deploymentName.schema, context.deployment);
  if (!success) throw new SettingsError('deployment', issues[0].message);
  if (context.stack !== undefined && context.stack !== stack)
    throw new SettingsError(
      'stack',
      `must be left out: the stack of the deployment ${stack} has its name`,
    );
  return readSettings({ ...context, stack }, readFile(stack, folder));
}

function readFile(deployment: string, folder: string): SettingsFile {
  const file = `deployments/${deployment}.json`;
  const path = join(folder, `${deployment}.json`);
  if (!existsSync(path))
    throw new SettingsError('deployment', `must name a file: there is no ${file}`);
  const bytes = readFileSync(path);
  const text = decodeUtf8(bytes);
  const problem = encodingProblem(bytes);
  if (text === undefined || problem !== undefined)
    throw new SettingsError('deployment', `must name a file in UTF-8: ${file} ${problem}`);
  const read = v.safeParse(objectSchema, text);
  if (!read.success) {
    const place = placeOfJsonError(text);
    const where = place === undefined ? '' : `: see its ${place}`;
    throw new SettingsError(
      'deployment',
      `must name a JSON object, which ${file} does not hold${where}`,
    );
  }
  const misplaced = Object.keys(read.output).find((setting) => notInFile.includes(setting));
  if (misplaced) throw new SettingsError(misplaced, 'must not stand in a file', file);
  return { file, values: read.output };
}
