import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';

/** The version of this code, as `package.json` has it. */
export const { version } = v.parse(
  v.object({ version: v.string() }),
  JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')),
);
