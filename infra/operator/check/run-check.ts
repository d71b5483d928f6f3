import * as v from 'valibot';
import { harmless } from '../readable.ts';
import { callOf, type Target } from '../target.ts';
import { checkService, probeSchema, type Step } from './check-service.ts';
import { lookAtStack } from './check-stack.ts';

export interface CheckResult {
  ok: boolean;
  issuer: string;
  /** The version of the deployed stack. Undefined of the one on this machine, and before 1.0.0. */
  version?: string | undefined;
  steps: Step[];
  problems: string[];
}

/**
 * Tries a stack out as a client and an account of its own, which it removes again.
 * @throws Error when the operator function can't be called
 */
export async function runCheck(target: Target): Promise<CheckResult> {
  const call = callOf(target);
  const own = v.parse(probeSchema, await call('probes create', {}));
  const problems: string[] = [];
  const steps = await checkService(own).finally(() =>
    call('probes remove', {
      'login-app': own.login_app_id,
      client: own.client_id,
      account: own.account_id,
    }).catch((error) => problems.push(`The probe ${own.login_app_id} was not removed: ${error.message}`)),
  );
  problems.unshift(...steps.flatMap(({ step, problem }) => (problem ? [`${step}: ${problem}`] : [])));
  const stack = target.local ? undefined : await lookAtStack(target.stack);
  problems.push(...(stack?.problems ?? []));
  return { ok: problems.length === 0, issuer: own.issuer, version: stack?.version, steps, problems };
}

/** For a terminal: a line for each call with the response headers below it, then what is wrong. */
export function readableCheck({ issuer, version, steps, problems }: CheckResult): string {
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
