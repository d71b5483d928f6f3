import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import featureFlags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import * as v from 'valibot';
import { readDeployment } from '../../settings/deployment-file.ts';
import type { Settings } from '../../settings/settings.ts';
import { templateCommand } from '../../version.ts';

export interface TemplateLine {
  bucket: string;
  /** The account that the bucket must belong to, if known. */
  owner: string | undefined;
  /** For the CDK: its feature flags, and the settings. */
  context: Record<string, unknown>;
  settings: Settings;
}

export const usage = `Usage: ${templateCommand} --bucket BUCKET [-c NAME=VALUE]…

Uploads the bundles and templates of a deployment to an S3 bucket, and prints the address of each
template as JSON, with what CloudFormation needs to create its stack. It deploys nothing.

  --bucket BUCKET          an S3 bucket in the region of the deployment
  --bucket-owner ACCOUNT   the account that the bucket must belong to; by default the setting account
  -c, --context NAME=VALUE a setting, or deployment=NAME for those of deployments/NAME.json
  -h, --help               print this text`;

/**
 * Reads the words of the command, and in the current folder the files that `cdk deploy` reads:
 * the context of `cdk.json`, and `deployments/`.
 * @returns undefined when they ask for help
 * @throws Error of one line for people
 */
export function readTemplateLine(words: string[]): TemplateLine | undefined {
  const { values } = parseArgs({
    args: words,
    options: {
      bucket: { type: 'string' },
      'bucket-owner': { type: 'string' },
      context: { type: 'string', short: 'c', multiple: true, default: [] },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  const bucket = v.parse(bucketSchema, values.bucket);
  const given = { ...contextOfFile(resolve('cdk.json')), ...contextOf(values.context) };
  const settings = readDeployment(given, resolve('deployments'));
  const owner = v.parse(ownerSchema, values['bucket-owner']) ?? settings.account;
  return { bucket, owner, context: { ...featureFlags, ...given }, settings };
}

/** @see Amazon S3 user guide, "General purpose bucket naming rules" */
const bucketSchema = v.message(
  v.pipe(v.string(), v.regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/)),
  'Name an S3 bucket in the region of the deployment: --bucket BUCKET.',
);

const ownerSchema = v.message(
  v.optional(v.pipe(v.string(), v.regex(/^\d{12}$/))),
  '--bucket-owner takes the number of an AWS account, which has 12 digits.',
);

/** Reads `name=value` pairs as the CDK does. */
function contextOf(pairs: string[]): Record<string, string> {
  const split = pairs.map((pair) => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (name === undefined) throw new Error('-c takes NAME=VALUE, as in -c deployment=live.');
    return [name, value];
  });
  return Object.fromEntries(split);
}

const cdkJsonSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ context: v.optional(v.record(v.string(), v.unknown()), {}) }),
);

function contextOfFile(file: string): Record<string, unknown> {
  if (!existsSync(file)) return {};
  const read = v.safeParse(cdkJsonSchema, readFileSync(file, 'utf8'));
  if (read.success) return read.output.context;
  throw new Error(`${file} is not a JSON object, or its context is none.`);
}
