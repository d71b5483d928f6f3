import { type BundlingOptions, LogLevel, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { aliases, define, mainFields, target } from './bundles.ts';

/**
 * How each function becomes one file. Every line shortens the cold start; `npm run bench:cold`
 * measures it.
 */
export const bundling: BundlingOptions = {
  format: OutputFormat.ESM,
  target,
  mainFields,
  externalModules: [],
  minify: true,
  define,
  esbuildArgs: aliases,
  logLevel: LogLevel.WARNING,
};
