import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import packageJson from '../../package.json' with { type: 'json' };
import { localDirectory } from '../local/local-files.ts';
import { readSettings } from '../settings/settings.ts';
import { bundlesFolder } from '../stack/bundles.ts';
import { deployService } from '../stack/deployment.ts';
import { resourceOf, ServiceFunction } from '../stack/service-function.ts';

// Builds the content of the package: JavaScript with declarations, since Node strips no types in
// node_modules; the functions as bundles; and a package.json for those who install it.
const root = join(import.meta.dirname, '../..');
const dist = join(root, 'dist');

/** Bundles each function as `cdk deploy` does: with the same hash, and so in the same template. */
function bundleFunctions(): void {
  const outdir = mkdtempSync(join(tmpdir(), 'login-service-bundles-'));
  const context = { 'aws:cdk:enable-asset-metadata': true };
  const { stack } = deployService(new App({ outdir, context }), readSettings({}));
  for (const one of stack.node.findAll()) {
    if (!(one instanceof ServiceFunction)) continue;
    const asset: string = resourceOf(one.lambda, CfnFunction).getMetadata('aws:asset:path');
    cpSync(join(outdir, asset), join(dist, bundlesFolder, one.key), { recursive: true });
  }
  rmSync(outdir, { recursive: true });
}

/**
 * Puts the package's own package.json in the project's place until `postpack`: the project's would
 * install a Node, too.
 */
function usePackageJson(): void {
  const file = join(root, 'package.json');
  const { name, version, private: isPrivate, description, license, type } = packageJson;
  const known: Record<string, string> = {
    ...packageJson.devDependencies,
    ...packageJson.dependencies,
  };
  const peers = ['aws-cdk-lib', 'constructs'];
  const versionOf = (one: string): string => {
    if (known[one]) return known[one];
    throw new Error(`package.json does not have ${one}, which the package needs.`);
  };
  const dependencies = importedPackages().filter((one) => !peers.includes(one));
  const about = { name, version, type };
  const entry = './dist/infra/package/index';
  const packed = {
    ...about,
    private: isPrivate,
    description,
    license,
    engines: { node: '>=24' },
    main: `${entry}.js`,
    types: `${entry}.d.ts`,
    exports: { types: `${entry}.d.ts`, default: `${entry}.js` },
    bin: { [name]: 'dist/infra/package/command.js' },
    files: ['dist', 'docs/*.md'],
    dependencies: Object.fromEntries(dependencies.map((one) => [one, versionOf(one)])),
    peerDependencies: Object.fromEntries(peers.map((one) => [one, `^${versionOf(one)}`])),
  };
  const write = (path: string, content: object) =>
    writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`);
  write(join(dist, 'package.json'), about);
  copyFileSync(file, join(localDirectory(), 'package.json'));
  write(file, packed);
}

/** The packages that the compiled code imports. */
function importedPackages(): string[] {
  const names = globSync('**/*.js', { cwd: dist }).flatMap((file) => {
    const specifiers = readFileSync(join(dist, file), 'utf8').matchAll(
      /(?:^(?:import|export|\}) ?(?:.* from )?|\bimport\(|\bresolve\()'([@\w][\w/.:@-]*)'/gm,
    );
    return [...specifiers].flatMap(([, specifier = '']) => {
      const [packageName] = /^(@[^/]+\/)?[^/]+/.exec(specifier) ?? [];
      return packageName === undefined || isBuiltin(specifier) ? [] : [packageName];
    });
  });
  return [...new Set(names)].toSorted();
}

rmSync(dist, { recursive: true, force: true });
execFileSync('tsc', ['--project', join(import.meta.dirname, 'tsconfig.json')], {
  stdio: 'inherit',
});
for (const readAtRunTime of [
  'README.md',
  'infra/docs/page/browser',
  'infra/local/sam/reach-host.mjs',
])
  cpSync(join(root, readAtRunTime), join(dist, readAtRunTime), { recursive: true });
bundleFunctions();
usePackageJson();
