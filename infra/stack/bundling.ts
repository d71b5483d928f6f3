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
  /** No operation here uses event streams, whose module the clients load only when one does. */
  externalModules: ['@smithy/core/event-streams'],
  esbuildArgs: {
    '--alias:@aws-sdk/credential-provider-node': join(import.meta.dirname, 'environment-credentials.ts'),
    '--alias:node:http': join(import.meta.dirname, 'node-http.cjs'),
  },
  logLevel: LogLevel.WARNING,
};

/** The clients of Lambda, CloudWatch Logs and CodeDeploy need the module of event streams as soon as they are loaded. */
const withEventStreams = ['operator', 'forward-audit', 'check-new-versions'];

/** How one function becomes a file, by the name of its file. */
export const bundlingFor = (key: string): BundlingOptions =>
  withEventStreams.includes(key) ? { ...bundling, externalModules: [] } : bundling;
