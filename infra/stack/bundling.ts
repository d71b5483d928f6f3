import { join } from 'node:path';
import { type BundlingOptions, LogLevel, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';

/**
 * How each function becomes one file. Every line is here for the cold start; `npm run bench:cold` tells what
 * they come to.
 */
export const bundling: BundlingOptions = {
  format: OutputFormat.ESM,
  target: 'node24',
  /** The SDK as ES modules, of which only the parts that are used are taken, instead of the whole one of the runtime. */
  mainFields: ['module', 'main'],
  minify: true,
  /** No operation that is used streams events. The client would load it when asked for one; the runtime has it. */
  externalModules: ['@smithy/core/event-streams'],
  esbuildArgs: {
    '--alias:@aws-sdk/credential-provider-node': join(import.meta.dirname, 'environment-credentials.ts'),
    '--alias:node:http': join(import.meta.dirname, 'node-http.cjs'),
  },
  logLevel: LogLevel.WARNING,
};
