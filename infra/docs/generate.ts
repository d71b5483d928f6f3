import { globSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { functionIndex, functionIndexFile } from './function-index.ts';

// Writes every generated file. A test fails while one is out of date.
process.chdir(join(import.meta.dirname, '../..'));
// All the others are derived from the functions that are in the index.
writeFileSync(functionIndexFile, functionIndex());
const { generatedFiles } = await import('./generated-files.ts');
const files = generatedFiles();
for (const file of globSync('test/events/*.json')) if (!files.has(file)) rmSync(file);
for (const [file, text] of files) writeFileSync(file, text);
