import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedFiles } from './generated-files.ts';

// Writes what is generated from the records; a test holds the files equal to them.
const root = join(import.meta.dirname, '../..');
const files = await generatedFiles(root);
for (const file of globSync('test/events/*.json', { cwd: root })) {
  if (!files.has(file)) rmSync(join(root, file));
}
for (const [file, text] of files) {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}
