import { chmodSync, type Dirent, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import type { Demo } from './demo.ts';
import { makeFolder, readWhole, writeWhole } from './local-files.ts';

/** Values that have to be the same after a restart, besides the table and the secrets. */
const savedStackSchema = v.object({
  /** The issuer of the tokens; its port is listened on again. */
  url: v.string(),
  /** The sandbox's address. The Login Users of its providers are known by it. */
  sandbox_url: v.string(),
  table_name: v.string(),
  /** Whether the stack was stopped, rather than killed. */
  stopped: v.boolean(),
  /** The ids and secrets of the demo. */
  demo: v.custom<Demo>((value) => value instanceof Object),
});
type SavedStack = v.InferOutput<typeof savedStackSchema>;
/** Schema of that file during a first start, or after one that was interrupted. */
const firstStartSchema = v.strictObject({ pid: v.optional(v.number()) });

/** The folder in which a stack keeps its data from one start to the next. */
export type LocalData = ReturnType<typeof openLocalData>;

/**
 * Opens the folder that `LOCAL_DATA` names, and creates it where it is missing. Only its owner may read it: it holds
 * secrets. What an interrupted first start has left there is removed.
 * @throws Error when the folder cannot be made, holds something else or a symbolic link, is damaged, or is just being filled
 */
export function openLocalData(folder: string) {
  const stackFile = join(folder, 'login-service.json');
  const secretsFile = join(folder, 'secrets.json');
  const tableFolder = join(folder, 'table');
  const entries = entriesOf(folder);
  const isEmpty = entries.length === 0;
  if (!isEmpty && !existsSync(stackFile))
    throw new Error(
      `LOCAL_DATA=${folder} holds other files. Name an empty folder, or one that does not exist.`,
    );
  const link = entries.find((entry) => entry.isSymbolicLink());
  if (link)
    throw new Error(
      `LOCAL_DATA=${folder} holds the symbolic link ${link.name}, which is never written through. Put the file itself there, or name another folder.`,
    );
  const found = isEmpty ? {} : readWhole(stackFile, v.union([savedStackSchema, firstStartSchema]));
  const saved = 'url' in found ? found : undefined;
  if (!('url' in found)) {
    if (isRunning(found.pid))
      throw new Error(
        `Process ${found.pid} is about to fill LOCAL_DATA=${folder}. Wait for it, or name another folder.`,
      );
    writeWhole(stackFile, { pid: process.pid });
    for (const left of [secretsFile, tableFolder]) rmSync(left, { recursive: true, force: true });
  }
  // The store gives its files the usual mode, so it is the folder that keeps others out.
  mkdirSync(tableFolder, { recursive: true });
  chmodSync(tableFolder, 0o700);
  return {
    folder,
    tableFolder,
    secretsFile,
    /** The stack as it was; none at the first start. */
    saved,
    save: (stack: SavedStack): void => writeWhole(stackFile, stack),
  };
}

function isRunning(pid = process.pid): boolean {
  try {
    return pid !== process.pid && process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** All that is in the folder, at any depth. */
function entriesOf(folder: string): Dirent[] {
  try {
    makeFolder(folder, 0o700);
    return readdirSync(folder, { recursive: true, withFileTypes: true });
  } catch (cause) {
    throw new Error(`LOCAL_DATA=${folder} is no folder and cannot be made one. Name another.`, { cause });
  }
}

/** The port of an HTTP address; 80 where it names none. */
export const portOf = (url: string): number => Number(new URL(url).port || 80);

/**
 * The port to listen on: the saved one, since tokens name it as part of their issuer.
 * @throws Error when `wanted` is another one; 0 takes any
 */
export function savedPort(saved: SavedStack | undefined, wanted: number | undefined): number | undefined {
  if (!saved) return wanted;
  const port = portOf(saved.url);
  if (wanted && wanted !== port)
    throw new Error(
      `The data in LOCAL_DATA belong to ${saved.url}, which its tokens name as their issuer. Leave PORT out, or set it to ${port}.`,
    );
  return port;
}
