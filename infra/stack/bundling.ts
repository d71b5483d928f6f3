import { join } from 'node:path';
import { type BundlingOptions, LogLevel, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';

/**
 * How each function becomes one file. Every line is here for the cold start; `npm run bench:cold` tells what
 * they come to.
 */
export const bundling: BundlingOptions = {
  /**
   * A script that requires Node's own modules, not an ES module that imports them: to import one is to read all
   * that it exports, and so `node:http` alone loads the whole of `fetch`, for twenty milliseconds.
   */
  format: OutputFormat.CJS,
  target: 'node24',
  /** The SDK as ES modules, of which only the parts that are used are taken, instead of the whole one of the runtime. */
  mainFields: ['module', 'main'],
  minify: true,
  /** No operation that is used streams events. The client would load it when asked for one; the runtime has it. */
  externalModules: ['@smithy/core/event-streams'],
  esbuildArgs: {
    '--alias:@aws-sdk/credential-provider-node': join(import.meta.dirname, 'environment-credentials.ts'),
  },
  logLevel: LogLevel.WARNING,
};
