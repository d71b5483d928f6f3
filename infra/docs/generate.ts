import { globSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedFiles } from './generated-files.ts';

// Writes every generated file. A test fails while one is out of date.
process.chdir(join(import.meta.dirname, '../..'));
const files = generatedFiles();
for (const file of globSync('test/events/*.json')) if (!files.has(file)) rmSync(file);
for (const [file, text] of files) writeFileSync(file, text);
