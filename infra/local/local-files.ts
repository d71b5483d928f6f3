import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import * as v from 'valibot';
import { auditTrail } from '../../lib/log/log.ts';
import { fromCaller } from '../operator/files/caller-folder.ts';
import { makeFolder } from '../operator/files/make-folder.ts';

type LocalFiles = ReturnType<typeof localFiles>;

/** The git-ignored folder of everything that is written here. */
const localFolder = resolve('.local');

const chosenFolder = (): string => {
  const { LOCAL_DIR } = process.env;
  return LOCAL_DIR ? fromCaller(LOCAL_DIR) : localFolder;
};

/**
 * The files in which a running stack describes itself. By default, `LOCAL_DIR` keeps several stacks
 * apart.
 */
export const localFiles = (directory = chosenFolder()) => ({
  directory,
  /** The audit lines; they stay until the next stack writes its first. */
  audit: join(directory, 'audit.ndjson'),
  demo: join(directory, 'demo.json'),
  stack: join(directory, 'stack.json'),
});

const stackFileSchema = v.object({
  pid: v.number(),
  /** The address of its API. */
  url: v.string(),
  aws_endpoint: v.object({ url: v.string(), secret_access_key: v.string() }),
});
type StackFile = v.InferOutput<typeof stackFileSchema>;

/**
 * The running stack that these files describe; undefined if there is none, or it was killed and
 * left them behind.
 */
export async function runningStack(files: LocalFiles): Promise<StackFile | undefined> {
  try {
    const stack = readStackFile(files);
    return (await isRunning(stack)) ? stack : undefined;
  } catch {
    return undefined;
  }
}

/** Whether there is a process with this id and, if an address is known, a server. */
export async function isRunning({
  pid,
  url,
}: {
  pid: number;
  url?: string | undefined;
}): Promise<boolean> {
  try {
    process.kill(pid, 0);
    if (url !== undefined) await fetch(url, { signal: AbortSignal.timeout(5_000) });
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes the folder of the files.
 * @throws Error when `LOCAL_DIR` names none
 */
export function requireFolder({ directory }: LocalFiles): void {
  try {
    makeFolder(directory);
    readdirSync(directory);
  } catch (cause) {
    throw new Error(`LOCAL_DIR=${directory} is no folder and cannot be made one. Name another.`, {
      cause,
    });
  }
}

/**
 * Sends audit lines to their own file, which the first one begins anew: a new file, never one that
 * a symbolic link names.
 */
export function writeAuditLinesTo({ audit }: LocalFiles): void {
  let file: number | undefined;
  auditTrail.write = (line) => {
    if (file === undefined) {
      rmSync(audit, { force: true });
      file = openSync(audit, 'wx', 0o600);
    }
    writeSync(file, line);
  };
}

/** Writes the demo last: once it exists, everything does. */
export function writeLocalFiles(
  files: LocalFiles,
  stack: Omit<StackFile, 'pid'>,
  demo: object,
): void {
  writeWhole(files.stack, { pid: process.pid, ...stack });
  writeWhole(files.demo, demo);
}

export const readStackFile = ({ stack }: LocalFiles): StackFile =>
  readWhole(stack, stackFileSchema);

/**
 * The content of a file that `writeWhole` wrote among the data of a stack.
 * @throws Error naming the file when it is damaged
 */
export function readWhole<Content>(
  file: string,
  schema: v.GenericSchema<unknown, Content>,
): Content {
  try {
    return v.parse(schema, JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new Error(`The file ${file} is damaged. ${otherData}`, { cause });
  }
}

/** Advice to those whose `LOCAL_DATA` cannot be read. */
export const otherData = 'Put back a copy of the folder, or name another one in LOCAL_DATA.';

/**
 * Writes a file that only its owner may read, never through a symbolic link. Readers find either
 * the old content or the new.
 */
export function writeWhole(file: string, content: object): void {
  const draft = `${file}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(draft, file);
}

/** A folder below `.local/`, which is created if it is missing. */
export function localDirectory(...names: string[]): string {
  const directory = join(localFolder, ...names);
  mkdirSync(directory, { recursive: true });
  return directory;
}

/** A short hash of the project's files that match these patterns: their names and contents. */
export function hashOfFiles(patterns: string[]): string {
  const hash = createHash('sha256');
  for (const file of globSync(patterns).toSorted()) hash.update(file).update(readFileSync(file));
  return hash.digest('hex').slice(0, 16);
}

/**
 * A folder below `.local/` with what takes long to make of some files of the project. It is made
 * anew once one of them has changed; several processes may want it at the same time.
 * @param patterns of the files
 */
export async function keptFor(
  name: string,
  patterns: string[],
  make: (folder: string) => Promise<unknown>,
): Promise<string> {
  const parent = localDirectory(name);
  const folder = join(parent, hashOfFiles(patterns));
  if (existsSync(folder)) return folder;
  const draft = mkdtempSync(join(parent, 'new-'));
  await make(draft);
  try {
    renameSync(draft, folder);
  } catch (error) {
    // Another process may have been faster.
    rmSync(draft, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
  removeOutdated(parent);
  return folder;
}

/** Removes what was made of other files, or left half made: whatever is older than an hour. */
function removeOutdated(folder: string): void {
  for (const name of readdirSync(folder)) {
    const one = join(folder, name);
    const madeAt = statSync(one, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (madeAt < Date.now() - 3_600_000) rmSync(one, { recursive: true, force: true });
  }
}

/**
 * A folder with something that takes long to install: once for each content of `versionFile`, anew
 * after a failure. Processes that install it at the same time each fill a folder of their own; the
 * first that is done is the one that stays. Its path does not change, as Python writes it into files.
 */
export async function installed(
  name: string,
  versionFile: string,
  install: (directory: string) => Promise<unknown>,
): Promise<string> {
  const version = createHash('sha256').update(readFileSync(versionFile)).digest('hex').slice(0, 8);
  const whole = join(localDirectory('installed'), `${name}-${version}`);
  if (existsSync(whole)) return realpathSync(whole);
  const directory = mkdtempSync(`${whole}-`);
  try {
    await install(directory);
    symlinkSync(directory, whole);
  } catch (error) {
    // Another process may have been faster.
    rmSync(directory, { recursive: true });
    if (!existsSync(whole)) throw error;
  }
  return realpathSync(whole);
}
