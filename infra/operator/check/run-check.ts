import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import * as v from 'valibot';
import { probeSchema } from '../../../lib/release/smoke-test.ts';
import { deploymentFolder, readDeployment } from '../../settings/deployment-file.ts';
import { pinName, pinnedValue, pins } from '../../settings/pins.ts';
import { versionOutput } from '../../version.ts';
import { harmless } from '../readable.ts';
import { callOf, type Target } from '../target.ts';
import { checkService } from './check-service.ts';

/**
 * Tries a stack out with a probe, which it removes again.
 * @throws Error when the operator function can't be called
 */
export async function runCheck(target: Target) {
  const call = callOf(target);
  const own = v.parse(probeSchema, await call('probes create', {}));
  const problems: string[] = [];
  const steps = await checkService(own).finally(() =>
    call('probes remove', {
      'login-app': own.login_app_id,
      client: own.client_id,
      account: own.account_id,
    }).catch((error) =>
      problems.push(`The probe ${own.login_app_id} was not removed: ${error.message}`),
    ),
  );
  problems.unshift(
    ...steps.flatMap(({ step, problem }) => (problem ? [`${step}: ${problem}`] : [])),
  );
  const stack = target.local ? undefined : await lookAtStack(target.stack);
  problems.push(...(stack?.problems ?? []));
  return {
    ok: problems.length === 0,
    issuer: own.issuer,
    version: stack?.version,
    steps,
    problems,
  };
}

/**
 * The check for a terminal: a line for each call with the response headers below it, then the
 * problems.
 */
export function readableCheck({
  issuer,
  version,
  steps,
  problems,
}: Awaited<ReturnType<typeof runCheck>>) {
  const width = Math.max(...steps.map(({ step }) => step.length));
  const lines = steps.flatMap(({ step, status = 'none', milliseconds, headers = {}, problem }) => {
    const mark = problem ? 'WRONG' : 'ok';
    return [
      `${step.padEnd(width)}  ${String(status).padEnd(4)}  ${`${milliseconds} ms`.padStart(8)}  ${mark}`,
      ...Object.entries(headers).map(([name, value]) => `  ${name}: ${value}`),
    ];
  });
  const conclusion = problems.length === 0 ? ['Everything works.'] : problems;
  return [issuer, ...(version ? [`version ${version}`] : []), ...lines, '', ...conclusion]
    .map(harmless)
    .join('\n');
}

/** Reads a stack's version (undefined before 1.0.0) and its problems from CloudFormation. */
export async function lookAtStack(StackName: string, folder = deploymentFolder) {
  const client = new CloudFormationClient({});
  try {
    const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName }));
    const { StackStatus: status = '', Parameters = [], Outputs = [] } = stack ?? {};
    const stage = Parameters.find(
      ({ ParameterKey }) => ParameterKey === 'PinnedStage',
    )?.ParameterValue;
    const kept = new Map(Outputs.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
    const problems = pinProblems(StackName, kept, folder);
    if (stage === 'production' && !stack?.EnableTerminationProtection)
      problems.unshift(
        'The stack is production but has no termination protection: deploy it again.',
      );
    if (!/^(CREATE|UPDATE)_COMPLETE$/.test(status))
      problems.unshift(
        `The stack is in the state ${status}: its last deployment hasn't ended, or has failed.`,
      );
    return { version: kept.get(versionOutput), problems };
  } catch (error) {
    const why = error instanceof Error ? error.message : error;
    return { version: undefined, problems: [`The stack can't be checked: ${why}`] };
  }
}

/**
 * Differences between the settings of a stack and those of its file, if it has one.
 * @throws SettingsError for a wrong file
 */
function pinProblems(stack: string, kept: ReadonlyMap<unknown, unknown>, folder: string): string[] {
  const missing = pins.filter((pin) => !kept.has(`${pinName(pin)}Value`));
  const unkept = `The stack doesn't keep ${missing.join(', ')}: deploy it once more, without change.`;
  const problems = missing.length > 0 ? [unkept] : [];
  const file = `${stack}.json`;
  if (!existsSync(join(folder, file))) return problems;
  const settings = readDeployment({ deployment: stack }, folder);
  for (const pin of pins) {
    const value = kept.get(`${pinName(pin)}Value`);
    const own = pinnedValue(settings, pin);
    if (value !== undefined && value !== own)
      problems.push(
        `The stack was deployed with ${pin} ${value}, but deployments/${file} says ${own}.`,
      );
  }
  return problems;
}
