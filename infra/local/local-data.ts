import { chmodSync, type Dirent, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { makeFolder } from '../operator/files/make-folder.ts';
import type { Demo } from './demo.ts';
import { isRunning, readWhole, writeWhole } from './local-files.ts';

/** Values that must outlive a restart, besides the table and the secrets. */
const savedStackSchema = v.object({
  /** The issuer of the tokens, whose port is used again. */
  url: v.string(),
  /** The sandbox's address, which is part of the identities of its Login Users. */
  sandbox_url: v.string(),
  table_name: v.string(),
  /** Whether the stack was stopped, rather than killed. */
  stopped: v.boolean(),
  /** The process that uses the data, unless it was stopped. Version 1.0.0 doesn't write it. */
  pid: v.optional(v.number()),
  demo: v.custom<Demo>((value) => value instanceof Object),
});

type SavedStack = v.InferOutput<typeof savedStackSchema>;
/** The file until the first start is complete. */
const firstStartSchema = v.strictObject({ pid: v.optional(v.number()) });

export type LocalData = Awaited<ReturnType<typeof openLocalData>>;

/**
 * Opens or creates the folder `LOCAL_DATA`, for its owner alone.
 * @throws Error when it cannot be made, holds other files or a symbolic link, is damaged, or is in
 *   use
 */
export async function openLocalData(folder: string) {
  const stackFile = join(folder, 'login-service.json');
  const tableFolder = join(folder, 'table');
  const entries = entriesOf(folder);
  const isOther = entries.length > 0 && !existsSync(stackFile);
  if (isOther || entries.some((entry) => entry.isSymbolicLink()))
    throw new Error(
      `LOCAL_DATA=${folder} holds other files or a symbolic link. Name an empty folder.`,
    );
  const found =
    entries.length === 0 ? {} : readWhole(stackFile, v.union([savedStackSchema, firstStartSchema]));
  const saved = v.is(savedStackSchema, found) ? found : undefined;
  await requireUnused(folder, found.pid, saved?.url);
  if (!saved) writeWhole(stackFile, { pid: process.pid });
  // The store's files have the usual mode: the folder keeps others out.
  mkdirSync(tableFolder, { recursive: true });
  chmodSync(tableFolder, 0o700);
  return {
    folder,
    tableFolder,
    secretsFile: join(folder, 'secrets.json'),
    /** The stack as it was; undefined at the first start. */
    saved,
    save: (stack: SavedStack): void =>
      writeWhole(stackFile, { ...stack, pid: stack.stopped ? undefined : process.pid }),
  };
}

/**
 * Everything in the folder, at any depth.
 * @throws Error when it is no folder and can't be made one
 */
function entriesOf(folder: string): Dirent[] {
  try {
    makeFolder(folder, 0o700);
    return readdirSync(folder, { recursive: true, withFileTypes: true });
  } catch (cause) {
    throw new Error(`LOCAL_DATA=${folder} is no folder and cannot be made one. Name another.`, {
      cause,
    });
  }
}

/**
 * Refuses data that a running stack uses. After a kill, another process may have its id, but not
 * its address.
 * @param url undefined while the first start goes on
 * @throws Error naming the process
 */
async function requireUnused(folder: string, pid = process.pid, url?: string): Promise<void> {
  if (pid === process.pid || !(await isRunning({ pid, url }))) return;
  const user =
    url === undefined ? `process ${pid}, which starts` : `the stack at ${url} (process ${pid})`;
  throw new Error(
    `LOCAL_DATA=${folder} is in use by ${user}. Stop it first, or name another folder.`,
  );
}

/** The port of an HTTP address; 80 where it names none. */
export const portOf = (url: string): number => Number(new URL(url).port || 80);
