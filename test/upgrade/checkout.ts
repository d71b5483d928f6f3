import { existsSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import * as v from 'valibot';
import { localDirectory } from '../../infra/local/local-files.ts';
import { shown } from '../support/commands.ts';

const project = join(import.meta.dirname, '..', '..');

/**
 * The code of a commit in a folder of its own, ready to run.
 * @throws Error when this clone can't get the commit
 */
export async function checkOut(commit: string): Promise<string> {
  const directory = join(localDirectory('checkouts'), commit);
  if (existsSync(directory)) return directory;
  // A shallow clone gets it from where it came from.
  if (!(await hasCommit(commit)))
    await execa('git', ['fetch', '--unshallow'], { cwd: project, reject: false });
  if (!(await hasCommit(commit)))
    throw new Error(
      `This clone does not have the commit ${commit}. Fetch the whole history: git fetch --unshallow --tags`,
    );
  const draft = `${directory}.new`;
  rmSync(draft, { recursive: true, force: true });
  localDirectory('checkouts', `${commit}.new`);
  await execa('git', ['archive', `--output=${draft}.tar`, commit], { cwd: project });
  await execa('tar', ['-xf', `${draft}.tar`, '-C', draft]);
  rmSync(`${draft}.tar`);
  // Installing takes a minute, which is needed only where a version has changed.
  if (hasAllOf(draft)) symlinkSync(join(project, 'node_modules'), join(draft, 'node_modules'));
  else await execa('npm', ['ci'], { ...shown, cwd: draft });
  renameSync(draft, directory);
  return directory;
}

async function hasCommit(commit: string): Promise<boolean> {
  const words = ['cat-file', '-e', `${commit}^{commit}`];
  return (await execa('git', words, { cwd: project, reject: false })).exitCode === 0;
}

const versions = v.optional(v.record(v.string(), v.string()), {});
const packageSchema = v.object({ dependencies: versions, devDependencies: versions });

/** Whether every package of a checkout is installed here in its version. */
function hasAllOf(checkout: string): boolean {
  const [ours = {}, theirs = {}] = [project, checkout].map((folder) => {
    const text = readFileSync(join(folder, 'package.json'), 'utf8');
    const { dependencies, devDependencies } = v.parse(packageSchema, JSON.parse(text));
    return { ...dependencies, ...devDependencies };
  });
  return Object.entries(theirs).every(([name, version]) => ours[name] === version);
}
