import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import * as v from 'valibot';

/** The file that names the last release. */
export const releaseFile = join(import.meta.dirname, 'release.json');

/** The release that today's code must be able to follow: its version, and the commit that it was made from. */
export const release = v.parse(
  v.object({ version: v.string(), commit: v.string() }),
  JSON.parse(readFileSync(releaseFile, 'utf8')),
);

/**
 * Unpacks the code of the release. It has no packages, so it uses those of the nearest folder above.
 * @param directory an empty folder
 * @throws Error when this clone lacks the commit
 */
export async function unpackRelease(directory: string): Promise<void> {
  const { version, commit } = release;
  const { failed } = await execa('git', ['cat-file', '-e', `${commit}^{commit}`], { reject: false });
  if (failed)
    throw new Error(
      `This clone lacks the commit ${commit} of version ${version}. Get it with: git fetch --unshallow --tags`,
    );
  await execa('git', ['archive', commit]).pipe('tar', ['-x', '-C', directory]);
}
