import { join } from 'node:path';
import { type BundlingOptions, LogLevel, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';

/**
 * How each function becomes one file. Every line shortens the cold start; `npm run bench:cold` measures it.
 */
export const bundling: BundlingOptions = {
  format: OutputFormat.ESM,
  target: 'node24',
  /** Bundles the SDK's ES modules, of which only the used parts remain, instead of loading all of the runtime's SDK. */
  mainFields: ['module', 'main'],
  minify: true,
  /** Most clients use no event streams. For one that does, see `usesEventStreams`. */
  externalModules: ['@smithy/core/event-streams'],
  esbuildArgs: {
    '--alias:@aws-sdk/credential-provider-node': join(import.meta.dirname, 'environment-credentials.ts'),
    '--alias:node:http': join(import.meta.dirname, 'node-http.cjs'),
  },
  logLevel: LogLevel.WARNING,
};
