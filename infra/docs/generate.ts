import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedFiles } from './generated-files.ts';

// Writes every generated file. A test fails while one is out of date.
const root = join(import.meta.dirname, '../..');
const files = await generatedFiles(root);
for (const file of globSync('test/events/*.json', { cwd: root })) {
  if (!files.has(file)) rmSync(join(root, file));
}
for (const [file, text] of files) {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}
