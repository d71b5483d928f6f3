import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { App } from 'aws-cdk-lib';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { type BuildOptions, build, type Metafile } from 'esbuild';
import { pageFiles } from '../docs/page/page-files.ts';
import { readSettings } from '../settings/settings.ts';
import { bundlesFolder, mainFields } from '../stack/bundles.ts';
import { deployService } from '../stack/deployment.ts';
import { resourceOf, ServiceFunction } from '../stack/service-function.ts';
import { projectFolder } from '../version.ts';
import { bundledPackages, packageIn } from './bundled-packages.ts';
import { writeDeclarations } from './declarations.ts';
import { noticesOf } from './licences.ts';
import { packageManifest } from './manifest.ts';
import { oldestNode } from './node-version.ts';
import { startPackages } from './start-packages.ts';

// Makes the folder of the package, dist/package, or the one that the argument names. Its code is
// bundled with all that it imports, so the package has no dependencies but the app's own CDK.
const folder = resolve(process.argv[2] ?? join(projectFolder, 'dist/package'));
const code = join(folder, 'lib');

const shared: BuildOptions = {
  bundle: true,
  platform: 'node',
  target: `node${oldestNode}`,
  mainFields,
  // Names stay, for stack traces. Node prints the line of an error, so lines are short.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 100,
  external: [
    'aws-cdk-lib',
    'constructs',
    ...Object.keys(startPackages),
    // Only the page of a clone is made with them.
    'esbuild',
    'swagger-ui-dist',
  ],
  logLevel: 'warning',
};

/** Bundles what an app imports or requires, as one CommonJS module: both get the same classes. */
const bundleEntry = () =>
  build({
    ...shared,
    metafile: true,
    entryPoints: [join(import.meta.dirname, 'index.ts')],
    format: 'cjs',
    define: { 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename' },
    outfile: join(code, 'index.cjs'),
  });

/** Bundles the command, which loads only the program that is wanted. */
const bundleCommand = () =>
  build({
    ...shared,
    metafile: true,
    entryPoints: [join(import.meta.dirname, 'command.ts')],
    format: 'esm',
    splitting: true,
    outExtension: { '.js': '.mjs' },
    outdir: code,
    // Packages of CommonJS modules require modules of Node.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
  });

/** Bundles each function as `cdk deploy` does: with the same hash, and so in the same template. */
function bundleFunctions(): void {
  const outdir = mkdtempSync(join(tmpdir(), 'login-service-bundles-'));
  const context = { 'aws:cdk:enable-asset-metadata': true };
  const { stack } = deployService(new App({ outdir, context }), readSettings({}));
  for (const one of stack.node.findAll()) {
    if (!(one instanceof ServiceFunction)) continue;
    const asset: string = resourceOf(one.lambda, CfnFunction).getMetadata('aws:asset:path');
    cpSync(join(outdir, asset), join(folder, bundlesFolder, one.key), { recursive: true });
  }
  rmSync(outdir, { recursive: true });
}

function copyFiles(): void {
  for (const path of ['README.md', 'docs'])
    cpSync(join(projectFolder, path), join(folder, path), { recursive: true });
  cpSync(join(projectFolder, 'infra/local/sam/reach-host.mjs'), join(code, 'reach-host.mjs'));
  mkdirSync(join(folder, 'page'));
  for (const [name, text] of pageFiles(true)) writeFileSync(join(folder, 'page', name), text);
}

/** Writes the notices of the packages that are bundled, and of the page's. */
function writeNotices(metafiles: Metafile[]): void {
  const pages = packageIn(join(projectFolder, 'node_modules/swagger-ui-dist'));
  const notices = noticesOf([...bundledPackages(metafiles), pages]);
  writeFileSync(join(folder, 'THIRD-PARTY-NOTICES.txt'), notices);
}

rmSync(folder, { recursive: true, force: true });
const bundles = await Promise.all([bundleEntry(), bundleCommand()]);
// The command bundles the functions, too, since it starts the service.
writeNotices(bundles.map(({ metafile }) => metafile));
bundleFunctions();
writeDeclarations(join(folder, 'types'));
copyFiles();
writeFileSync(
  join(folder, 'package.json'),
  `${JSON.stringify(packageManifest('./lib', './types'), null, 2)}\n`,
);
