import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedFiles } from './generated-files.ts';

// Writes what is generated from the records. With --check it writes nothing, and fails when a file is not up to date.
const root = join(import.meta.dirname, '../..');
const wanted = await generatedFiles(root);
const stale = globSync('test/events/*.json', { cwd: root }).filter((file) => !wanted.has(file));
const changed = [...wanted].filter(([file, text]) => read(file) !== text).map(([file]) => file);

if (process.argv.includes('--check')) {
  if (stale.length + changed.length > 0) {
    process.stderr.write(`Not up to date: ${[...changed, ...stale].join(', ')}. Run npm run generate.\n`);
    process.exitCode = 1;
  }
} else {
  for (const file of stale) rmSync(join(root, file));
  for (const file of changed) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), wanted.get(file) ?? '');
  }
  process.stdout.write(`${changed.length} files written, ${stale.length} removed.\n`);
}

function read(file: string): string | undefined {
  try {
    return readFileSync(join(root, file), 'utf8');
  } catch {
    return undefined;
  }
}
