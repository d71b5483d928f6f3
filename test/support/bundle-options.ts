import type { BuildOptions } from 'esbuild';
import { bundling } from '../../infra/stack/bundling.ts';

// What the CDK leaves to the runtime's SDK, unless it is told otherwise.
const { externalModules: external = ['@aws-sdk/*', '@smithy/*'], esbuildArgs = {} } = bundling;
const { define = {}, mainFields = [], target = 'node', minify = false } = bundling;

/** Has esbuild bundle functions as the CDK does for a deployment. */
export const bundleOptions: BuildOptions = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  external,
  mainFields,
  target,
  minify,
  define,
  alias: Object.fromEntries(
    Object.entries(esbuildArgs).map(([flag, file]) => [flag.replace('--alias:', ''), String(file)]),
  ),
};
