import { renameSync, writeFileSync } from 'node:fs';

/** Writes a file that only its owner may read. Whoever reads it, at any time, finds all of the old or all of the new content. */
export function writeWhole(file: string, content: object): void {
  const draft = `${file}.new`;
  writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file);
}
