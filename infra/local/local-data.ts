import { chmodSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import type { Demo } from './demo.ts';
import { readWhole, writeWhole } from './local-files.ts';

/** Values that must outlive a restart, besides the table and the secrets. */
const savedStackSchema = v.object({
  /** The issuer of the tokens, whose port is used again. */
  url: v.string(),
  /** The sandbox's address, which is part of the identities of its Login Users. */
  sandbox_url: v.string(),
  table_name: v.string(),
  /** Whether the stack was stopped, rather than killed. */
  stopped: v.boolean(),
  demo: v.custom<Demo>((value) => value instanceof Object),
});

export type LocalData = ReturnType<typeof openLocalData>;

/** Opens or creates the folder `LOCAL_DATA`, for its owner alone. @throws Error when it holds other files or a symbolic link */
export function openLocalData(folder: string) {
  const stackFile = join(folder, 'login-service.json');
  const tableFolder = join(folder, 'table');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const isOther = entries.length > 0 && !existsSync(stackFile);
  if (isOther || entries.some((entry) => entry.isSymbolicLink()))
    throw new Error(`LOCAL_DATA=${folder} holds other files or a symbolic link. Name an empty folder.`);
  if (entries.length === 0) writeWhole(stackFile, {});
  // An empty object until the first start is complete.
  const saved = readWhole(stackFile, v.union([savedStackSchema, v.strictObject({})]));
  // The store's files have the usual mode: the folder keeps others out.
  mkdirSync(tableFolder, { recursive: true });
  chmodSync(tableFolder, 0o700);
  return {
    folder,
    tableFolder,
    secretsFile: join(folder, 'secrets.json'),
    /** The stack as it was; undefined at the first start. */
    saved: 'url' in saved ? saved : undefined,
    save: (stack: v.InferOutput<typeof savedStackSchema>): void => writeWhole(stackFile, stack),
  };
}

/** The port of an HTTP address; 80 where it names none. */
export const portOf = (url: string): number => Number(new URL(url).port || 80);
