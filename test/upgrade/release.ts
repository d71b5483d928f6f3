import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';

/** The file that names the last release. */
export const releaseFile = join(import.meta.dirname, 'release.json');

/** The release that today's code must be able to follow: its version, and the commit that it was made from. */
export const release = v.parse(
  v.object({ version: v.string(), commit: v.string() }),
  JSON.parse(readFileSync(releaseFile, 'utf8')),
);
