import { writeFileSync } from 'node:fs';
import { execa } from 'execa';
import { version } from '../../infra/version.ts';
import { withEdge } from '../support/deployments.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { print, runCheck } from '../support/steps.ts';
import { releaseFile } from './releases.ts';
import { comparedParts, today } from './upgrade-problems.ts';

/**
 * Keeps what the checked-out commit deploys as a release that later versions are compared with.
 * Run it at a release only.
 */
runCheck(async () => {
  await requireTools([tools.git]);
  const { stdout: uncommitted } = await execa('git', ['status', '--porcelain']);
  if (uncommitted)
    throw new Error(`Commit the release first. These files have changed:\n${uncommitted}`);
  const { stdout: commit } = await execa('git', ['rev-parse', 'HEAD']);
  // The CDK takes a while to load.
  const { synthesize } = await import('../support/synthesize.ts');
  const { service, edge } = synthesize(withEdge);
  const stacks = { service: service.template, edge: edge?.template };
  // A line for each resource.
  writeFileSync(
    releaseFile(version),
    `${inLines({ version, commit, ...comparedParts(today(stacks)) }, 4)}\n`,
  );
  print(`Kept ${version} as of ${commit}.`);
});

/** JSON with a line for each entry of an object, and of the objects in it down to a depth. */
const inLines = (value: unknown, depth: number): string =>
  depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value)
    ? JSON.stringify(value)
    : `{\n${Object.entries(value)
        .map(([name, one]) => `${JSON.stringify(name)}: ${inLines(one, depth - 1)}`)
        .join(',\n')}\n}`;
