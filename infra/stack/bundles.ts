import { join } from 'node:path';

const standIn = (file: string): string => join(import.meta.dirname, file);

/** The folder of the installed package with a folder for each function's bundle. */
export const bundlesFolder = 'bundles';

export const target = 'node24';

/** The SDK's ES modules, of which only used parts remain, instead of the runtime's SDK. */
export const mainFields = ['module', 'main'];

/**
 * Values that esbuild puts in place of expressions. Without their documents, the records of
 * endpoints are smaller, and so is what only documents use.
 */
export const define: Record<string, string> = { 'process.env.BUNDLED': 'true' };

/**
 * Modules that load much that isn't needed, and the files that stand for them, as flags of esbuild.
 */
export const aliases: Record<string, string> = {
  '--alias:@aws-sdk/credential-provider-node': standIn('environment-credentials.ts'),
  '--alias:@smithy/core/event-streams': standIn('no-event-streams.ts'),
  '--alias:node:http': standIn('node-http.cjs'),
  '--alias:node:process': standIn('node-process.cjs'),
};
