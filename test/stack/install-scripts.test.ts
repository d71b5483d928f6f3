import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import * as v from 'valibot';

const read = <Output>(file: string, schema: v.GenericSchema<unknown, Output>): Output =>
  v.parse(schema, JSON.parse(readFileSync(file, 'utf8')));

const { packages } = read(
  'package-lock.json',
  v.object({
    packages: v.record(v.string(), v.object({ hasInstallScript: v.optional(v.boolean(), false) })),
  }),
);
const { allowScripts, scarfSettings } = read(
  'package.json',
  v.object({
    allowScripts: v.record(v.string(), v.boolean()),
    scarfSettings: v.object({ enabled: v.boolean() }),
  }),
);

/** What each package runs when it is installed, and whether it may. */
const reviewed = {
  '@parcel/watcher': false, // builds its binary, which ships prebuilt
  '@scarf/scarf': false, // reports the installation to a third party
  '@swc/core': true, // checks its binary
  'classic-level': true, // builds its binary where none ships prebuilt
  esbuild: true, // checks its binary
  node: true, // puts the binary of Node in its place
  'unrs-resolver': false, // checks its binary, and downloads what is missing
};

test('no package runs a script at installation, but for the reviewed ones', () => {
  const names = Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  expect([...new Set(names)].sort()).toEqual(Object.keys(reviewed).sort());
  expect(allowScripts).toEqual(reviewed);
});

test('the script that reports installations is off, also for an npm that knows no allowScripts', () => {
  expect(scarfSettings).toEqual({ enabled: false });
});
