import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import type { Demo } from './demo.ts';
import { writeWhole } from './local-files.ts';

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
export type SavedStack = v.InferOutput<typeof savedStackSchema>;

/** The folder in which a stack keeps its data from one start to the next. */
export type LocalData = ReturnType<typeof openLocalData>;

/**
 * Opens the folder that `LOCAL_DATA` names, and creates it where it is missing. Only its owner may read it: it holds
 * secrets. What an interrupted first start has left there is removed.
 * @throws Error when the folder cannot be made, or holds something else
 */
export function openLocalData(folder: string) {
  const stackFile = join(folder, 'login-service.json');
  const secretsFile = join(folder, 'secrets.json');
  const tableFolder = join(folder, 'table');
  makeFolder(folder);
  const isEmpty = readdirSync(folder).length === 0;
  if (!isEmpty && !existsSync(stackFile)) {
    throw new Error(
      `LOCAL_DATA=${folder} holds other files. Name an empty folder, or one that does not exist.`,
    );
  }
  if (isEmpty) writeWhole(stackFile, {});
  const { success, output: saved } = v.safeParse(
    savedStackSchema,
    JSON.parse(readFileSync(stackFile, 'utf8')),
  );
  if (!success) for (const left of [secretsFile, tableFolder]) rmSync(left, { recursive: true, force: true });
  // The store gives its files the usual mode, so it is the folder that keeps others out.
  mkdirSync(tableFolder, { recursive: true });
  chmodSync(tableFolder, 0o700);
  return {
    folder,
    tableFolder,
    secretsFile,
    /** The stack as it was; none at the first start. */
    saved: success ? saved : undefined,
    save: (stack: SavedStack): void => writeWhole(stackFile, stack),
  };
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new Error(`LOCAL_DATA=${folder} is no folder and cannot be made one. Name another.`, { cause });
  }
}

export const portOf = (url: string): number => Number(new URL(url).port);

/**
 * The port to listen on: the saved one, since tokens name it as part of their issuer.
 * @throws Error when `wanted` is another one; 0 takes any
 */
export function savedPort(saved: SavedStack | undefined, wanted: number | undefined): number | undefined {
  if (!saved) return wanted;
  const port = portOf(saved.url);
  if (wanted && wanted !== port) {
    throw new Error(
      `The data in LOCAL_DATA belong to ${saved.url}, which its tokens name as their issuer. Leave PORT out, or set it to ${port}.`,
    );
  }
  return port;
}
