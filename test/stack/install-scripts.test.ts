import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import * as v from 'valibot';
import packageJson from '../../package.json' with { type: 'json' };

const { packages } = v.parse(
  v.object({
    packages: v.record(
      v.string(),
      v.object({
        version: v.optional(v.string(), ''),
        integrity: v.optional(v.string(), ''),
        bin: v.optional(v.record(v.string(), v.string()), {}),
        hasInstallScript: v.optional(v.boolean(), false),
      }),
    ),
  }),
  JSON.parse(readFileSync('package-lock.json', 'utf8')),
);

/** What each package runs when it is installed, and whether it may. */
const reviewed = {
  '@parcel/watcher': false, // builds its binary, which ships prebuilt
  '@scarf/scarf': false, // reports the installation to a third party
  '@swc/core': true, // checks its binary
  'classic-level': true, // builds its binary where none ships prebuilt
  esbuild: true, // checks its binary
  'unrs-resolver': false, // checks its binary, and downloads what is missing
};

test('no package runs a script at installation, but for the reviewed ones', () => {
  const names = Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  expect([...new Set(names)].sort()).toEqual(Object.keys(reviewed).sort());
  expect(packageJson.allowScripts).toEqual(reviewed);
});

test('the script that reports installations is off, also for an npm that knows no allowScripts', () => {
  expect(packageJson.scarfSettings).toEqual({ enabled: false });
});

test('the Node of the scripts comes in packages whose integrity is locked, in the version that Lambda runs', () => {
  const runtimes = Object.values(packages).filter(({ bin }) => bin.node !== undefined);
  expect(runtimes.length).toBeGreaterThan(1);
  for (const { version, integrity, hasInstallScript } of runtimes) {
    expect(version).toMatch(/^24\./);
    expect(integrity).toMatch(/^sha512-/);
    expect(hasInstallScript).toBe(false);
  }
});
