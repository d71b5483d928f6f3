import {
  CodeDeployClient,
  ListDeploymentsCommand,
  StopDeploymentCommand,
} from '@aws-sdk/client-codedeploy';
import { LambdaClient, UpdateAliasCommand } from '@aws-sdk/client-lambda';
import { forEachInBatches } from '../../../lib/storage/batches.ts';
import { ask, type Terminal } from '../confirm.ts';
import type { StackLine } from '../parse-command-line.ts';
import { callOf, explainAwsFailure, type Target } from '../target.ts';
import { patiently, type Release, readRelease, type Served, showRelease } from './read-release.ts';

/**
 * Back to the version before the live one, or forward to the one that CloudFormation deployed last.
 */
type Direction = 'release back' | 'release forward';

/**
 * Shows what is live; or asks, moves it, and notes that in the audit log if it can.
 * @throws Error when nothing was changed
 */
export async function runRelease(
  about: 'release show' | Direction,
  { functions, isConfirmed }: StackLine,
  target: Target,
  terminal: Terminal,
) {
  if (target.local) throw new Error('Only deployed stacks have versions: name one with --stack.');
  const release = await readRelease(target.stack).catch((error: unknown) => {
    throw new Error(explainAwsFailure(Object(error)));
  });
  if (about === 'release show') return { ok: true, ...(await showRelease(release)) };
  const confirm = async (what: string): Promise<void> => {
    if (!isConfirmed)
      await ask(`${about} ${what}, on the deployed stack ${release.stack}.`, terminal);
  };
  const isInCanary =
    release.status === 'UPDATE_IN_PROGRESS' &&
    release.functions.some(({ isShifting }) => isShifting);
  return about === 'release back' && functions.length === 0 && isInCanary
    ? endDeployment(release, confirm)
    : move(release, about, functions, confirm);
}

type Confirm = (what: string) => Promise<void>;

/**
 * Stops the canaries of a deployment, so that CodeDeploy and CloudFormation roll the whole of it
 * back.
 */
async function endDeployment({ stack, functions }: Release, confirm: Confirm) {
  await confirm('stops the canaries, which rolls the whole deployment back');
  const client = new CodeDeployClient(patiently);
  const stopped: string[] = [];
  const shifting = functions.filter(({ isShifting }) => isShifting);
  await forEachInBatches(shifting, async ({ key }) => {
    const running = new ListDeploymentsCommand({
      applicationName: stack,
      deploymentGroupName: key,
      includeOnlyStatuses: ['Created', 'Queued', 'InProgress', 'Ready'],
    });
    const { deployments = [] } = await client.send(running);
    for (const deploymentId of deployments) {
      await client.send(new StopDeploymentCommand({ deploymentId, autoRollbackEnabled: true }));
      stopped.push(key);
    }
  });
  const warnings =
    stopped.length > 0 ? [] : ['CodeDeploy runs no deployment: look again with release show.'];
  return { ok: stopped.length > 0, warnings, stack, stopped_canaries: stopped };
}

/** A function whose alias is moved, from the number of one version to that of another. */
type Move = Served & { from: number; to: number };

/**
 * States of a stack in which CloudFormation moves no alias, and all functions are of one
 * deployment.
 */
const settled = /^(CREATE|UPDATE|UPDATE_ROLLBACK|IMPORT)_COMPLETE(_CLEANUP_IN_PROGRESS)?$/;

/**
 * Decides which functions a command moves. Without names, `back` moves only live versions of the
 * last deployment, so that it does nothing when it is repeated.
 * @param names keys of the functions to move; all when empty
 * @returns the moves, and a reason for each function that can't be moved
 * @throws Error when there is nothing to move, or when a move would do harm
 */
function planMoves(release: Release, direction: Direction, names: readonly string[]) {
  const { status, begunAt, functions } = release;
  const unknown = names.find((name) => !functions.some(({ key }) => key === name));
  if (unknown !== undefined) {
    const keys = functions.map(({ key }) => key).join(', ');
    throw new Error(`No function with an endpoint is called ${unknown}. Choose from ${keys}.`);
  }
  if (!settled.test(status) && (names.length === 0 || status.endsWith('_IN_PROGRESS')))
    throw new Error(unsettled(release));
  const isForward = direction === 'release forward';
  const chosen = functions.filter(({ key, live, deployed }) => {
    if (names.length > 0) return names.includes(key);
    return isForward || (live === deployed && live.publishedAt >= begunAt);
  });
  const moves: Move[] = [];
  const stuck: string[] = [];
  for (const served of chosen) {
    const { key, live, deployed, before } = served;
    const target = isForward ? deployed : before;
    if (!target) stuck.push(`${key} stays: it has no version before ${live.number}.`);
    else if (target.tableName !== live.tableName)
      throw new Error(
        `Version ${target.number} of ${key} works on the table ${target.tableName}, the live one on ${live.tableName}: deploy instead.`,
      );
    else if (target !== live) moves.push({ ...served, from: live.number, to: target.number });
  }
  if (moves.length > 0) return { moves, stuck };
  if (isForward) throw new Error('What was deployed last is live already.');
  throw new Error(
    stuck.join(' ') ||
      `No version that was published since ${begunAt.toISOString()}, when the last deployment began, is live. To go further back, name functions with --function; see release show.`,
  );
}

const unsettled = ({ status, stack }: Release): string =>
  status === 'UPDATE_IN_PROGRESS'
    ? `A deployment is under way. Roll it back as a whole: with release back alone while it has a canary, else with aws cloudformation cancel-update-stack --stack-name ${stack}.`
    : `The stack is in the state ${status}: see docs/maintenance.md, "When an update can't be rolled back".`;

async function move(
  release: Release,
  direction: Direction,
  names: readonly string[],
  confirm: Confirm,
) {
  const { stack } = release;
  const { moves, stuck } = planMoves(release, direction, names);
  const described = moves.map(({ key, from, to }) => `${key} from version ${from} to ${to}`);
  await confirm(`moves ${described.join(', ')}`);
  const { moved, failures } = await moveAliases(moves);
  const warnings = [...stuck, ...failures, ...(await note(stack, moved))];
  if (direction === 'release back') warnings.push(nextDeployment);
  const functions = moved.map(({ key, from, to }) => ({ function: key, from, to }));
  return { ok: failures.length === 0, warnings, stack, functions };
}

/** Otherwise, the canary of the next deployment would begin at the version that was just left. */
const nextDeployment =
  'Make the next deployment with -c canary=false, and run release forward after it: see docs/maintenance.md, "Go back".';

/**
 * Moves aliases, but none that somebody else has moved since it was read.
 * @returns the moves made, and why the others failed
 */
async function moveAliases(moves: readonly Move[]) {
  const client = new LambdaClient(patiently);
  const failures = new Map<Move, string>();
  await forEachInBatches(moves, async (move) => {
    const update = new UpdateAliasCommand({
      FunctionName: move.name,
      Name: 'live',
      FunctionVersion: String(move.to),
      RoutingConfig: { AdditionalVersionWeights: {} },
      RevisionId: move.revisionId,
    });
    await client.send(update).catch((error: Error) => {
      failures.set(move, `${move.key} was not moved: ${error.message}`);
    });
  });
  return { moved: moves.filter((move) => !failures.has(move)), failures: [...failures.values()] };
}

/**
 * Writes the audit line.
 * @returns a warning when it could not be written
 */
async function note(stack: string, moved: readonly Move[]): Promise<string[]> {
  if (moved.length === 0) return [];
  const versions = moved.map(({ key, to }) => `${key}:${to}`).join(',');
  const later = `Later, run release note --versions ${versions} --stack ${stack}.`;
  return callOf({ local: false, stack })('release note', { versions }).then(
    () => [],
    (error: Error) => [`The audit log has no line about it: ${error.message} ${later}`],
  );
}
