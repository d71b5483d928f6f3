import { ask, type Terminal } from '../confirm.ts';
import { callOf, explainAwsFailure, type Target } from '../target.ts';
import {
  type Direction,
  type Move,
  moveAliases,
  type Plan,
  planMoves,
  stopCanaries,
} from './move-release.ts';
import { type Release, readRelease } from './read-release.ts';
import { showRelease } from './show-release.ts';

/**
 * Shows what is live; or makes other versions live after asking, without a deployment and without any function of the
 * service, and then notes it in the audit log, if the operator function works.
 * @returns a result to print, and warnings
 * @throws Error when nothing was changed
 */
export async function runRelease(
  target: Target,
  line: ReleaseLine,
  terminal: Terminal,
): Promise<ReleaseResult> {
  if (target.local) throw new Error('Only deployed stacks have versions: name one with --stack.');
  const release = await readRelease(target.stack).catch((error: unknown) => {
    throw new Error(explainAwsFailure(Object(error)));
  });
  const { about } = line;
  if (about === 'show') return { ok: true, warnings: [], ...(await showRelease(release)) };
  const confirm = async (what: string): Promise<void> => {
    if (!line.isConfirmed)
      await ask(`release ${about} ${what}, on the deployed stack ${release.stack}.`, terminal);
  };
  return about === 'back' && line.functions.length === 0 && isInCanary(release)
    ? endDeployment(release, confirm)
    : move(about, planMoves(release, about, line.functions), release, confirm);
}

/** A command line about a release. */
interface ReleaseLine {
  about: 'show' | Direction;
  /** Keys of the functions that it names. */
  functions: readonly string[];
  isConfirmed: boolean;
}

/** A result to print, whether everything was done, and warnings. */
interface ReleaseResult extends Record<string, unknown> {
  ok: boolean;
  warnings: string[];
}

type Confirm = (what: string) => Promise<void>;

const isInCanary = ({ status, functions }: Release): boolean =>
  status === 'UPDATE_IN_PROGRESS' && functions.some(({ isShifting }) => isShifting);

async function endDeployment(release: Release, confirm: Confirm): Promise<ReleaseResult> {
  await confirm('stops the canaries, which rolls the whole deployment back');
  const stopped = await stopCanaries(release);
  const warnings = stopped.length > 0 ? [] : ['CodeDeploy runs no deployment: look again with release show.'];
  return { ok: stopped.length > 0, warnings, stack: release.stack, stopped_canaries: stopped };
}

async function move(
  direction: Direction,
  { moves, stuck }: Plan,
  { stack }: Release,
  confirm: Confirm,
): Promise<ReleaseResult> {
  const described = moves.map(({ key, from, to }) => `${key} from version ${from} to ${to}`);
  await confirm(`moves ${described.join(', ')}`);
  const { moved, failures } = await moveAliases(moves);
  const warnings = [...stuck, ...failures, ...(await note(stack, moved))];
  if (direction === 'back') warnings.push(nextDeployment);
  const functions = moved.map(({ key, from, to }) => ({ function: key, from, to }));
  return { ok: failures.length === 0, warnings, stack, functions };
}

/** CloudFormation would have CodeDeploy begin a canary from the version that it deployed last, the one just left. */
const nextDeployment =
  'Make the next deployment with -c canary=false, and run release forward after it: see docs/maintenance.md, "Go back".';

/** Writes the audit line. @returns a warning when it could not be written */
async function note(stack: string, moved: readonly Move[]): Promise<string[]> {
  if (moved.length === 0) return [];
  const versions = moved.map(({ key, to }) => `${key}:${to}`).join(',');
  try {
    await callOf({ local: false, stack })('release', 'note', { versions });
    return [];
  } catch (error) {
    const why = error instanceof Error ? error.message : error;
    return [
      `The audit log has no line about it: ${why} Later, run release note --versions ${versions} --stack ${stack}.`,
    ];
  }
}
