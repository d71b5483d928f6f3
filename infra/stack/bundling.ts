import { join } from 'node:path';
import { type BundlingOptions, LogLevel, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';

const standIn = (file: string): string => join(import.meta.dirname, file);

/** How each function becomes one file. Every line shortens the cold start; `npm run bench:cold` measures it. */
export const bundling: BundlingOptions = {
  format: OutputFormat.ESM,
  target: 'node24',
  /** The SDK's ES modules, of which only used parts remain, instead of the runtime's SDK. */
  mainFields: ['module', 'main'],
  externalModules: [],
  minify: true,
  /** Modules that load much that isn't needed, and the files that stand for them. */
  esbuildArgs: {
    '--alias:@aws-sdk/credential-provider-node': standIn('environment-credentials.ts'),
    '--alias:@smithy/core/event-streams': standIn('no-event-streams.ts'),
    '--alias:node:http': standIn('node-http.cjs'),
    '--alias:node:fs': standIn('node-fs.cjs'),
    // Otherwise the alias of `node:fs` would apply to it.
    '--alias:node:fs/promises': 'node:fs/promises',
    '--alias:node:process': standIn('node-process.cjs'),
  },
  logLevel: LogLevel.WARNING,
};
