import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { accesses, functions, named, root } from '../support/template.ts';

/** The functions that load a file of a folder, by their keys; importing a type loads nothing. */
async function functionsThatLoad(folder: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: accesses.map(([key]) => join(root, `functions/${key}.ts`)),
    absWorkingDir: root,
    outdir: 'nowhere',
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    metafile: true,
    write: false,
  });
  return Object.values(metafile.outputs)
    .filter(({ inputs }) => Object.keys(inputs).some((file) => file.startsWith(folder)))
    .map(({ entryPoint = '' }) => entryPoint);
}

describe('publishing is left to one function; no request waits for the bus or fails with it', () => {
  test('no other function loads its code', async () => {
    expect(await functionsThatLoad('lib/publishing/')).toEqual(['functions/publish-events.ts']);
  });

  test.each(['EVENT_BUS_NAME', 'DEAD_LETTER_QUEUE_URL'])('no other function is told %s', (variable) => {
    const told = functions.filter(({ properties }) => variable in properties.Environment.Variables);
    expect(told.map(({ properties }) => properties)).toEqual([named('publish-events')]);
  });
});
