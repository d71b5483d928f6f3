import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';

const resourceSchema = v.looseObject({
  Type: v.string(),
  DeletionPolicy: v.optional(v.string()),
  Properties: v.optional(v.record(v.string(), v.unknown()), {}),
});

const templateSchema = v.looseObject({
  Parameters: v.optional(
    v.record(v.string(), v.looseObject({ Default: v.optional(v.unknown()) })),
    {},
  ),
  Resources: v.record(v.string(), resourceSchema),
  Outputs: v.optional(v.record(v.string(), v.unknown()), {}),
});

export const deployableSchema = v.object({
  settings: v.array(v.string()),
  stacks: v.record(v.string(), templateSchema),
});

/** A CloudFormation template, as far as updates are compared. */
export type StackTemplate = v.InferOutput<typeof templateSchema>;
/**
 * Everything about a version that a deployment depends on: the names of its settings and the
 * templates of its stacks.
 */
export type Deployable = v.InferOutput<typeof deployableSchema>;

export const releaseFile = join(import.meta.dirname, 'release.json');

/**
 * The release that today's code must be able to follow: its version, the commit that it was made
 * from, and what it deployed.
 */
export const release = v.parse(
  v.object({ version: v.string(), commit: v.string(), ...deployableSchema.entries }),
  JSON.parse(readFileSync(releaseFile, 'utf8')),
);

/** Settings of providers that the release does not know. */
export const laterSettings = [
  'login_claims',
  'hook_claims',
  'code_exchange',
  'user_profile',
  'notifications',
  'pkce',
  'nonce_form',
  'app_errors',
  'throttled_errors',
  'proof_secret',
  'signature',
  'tenants',
];
