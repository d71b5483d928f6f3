import { readdirSync, readFileSync } from 'node:fs';
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

const releaseSchema = v.object({
  version: v.string(),
  commit: v.string(),
  ...deployableSchema.entries,
});

/**
 * A release that today's code must be able to follow: its version, the commit that it was made
 * from, and what it deployed.
 */
export type Release = v.InferOutput<typeof releaseSchema>;

const folder = join(import.meta.dirname, 'releases');

export const releaseFile = (version: string): string => join(folder, `${version}.json`);

/** Compares versions by their numbers, as a comparison of texts would put 1.10.0 before 1.9.0. */
export const compareVersions = (one: string, other: string): number =>
  one.localeCompare(other, 'en', { numeric: true });

/** Every kept release, the oldest first. */
export const releases: readonly Release[] = readdirSync(folder)
  .map((name) => v.parse(releaseSchema, JSON.parse(readFileSync(join(folder, name), 'utf8'))))
  .toSorted((one, other) => compareVersions(one.version, other.version));

function present(release: Release | undefined): Release {
  if (!release) throw new Error(`There is no release in ${folder}.`);
  return release;
}

export const oldestRelease = present(releases[0]);
export const lastRelease = present(releases.at(-1));
