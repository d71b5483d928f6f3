import { expect } from '@jest/globals';
import { keysPath } from '../../lib/tokens/issuer.ts';
import { eventually } from './people.ts';
import type { FollowedService } from './start-service.ts';

export type LogLine = Record<string, unknown> & { event: string };

/**
 * Every structured line that a service has written so far.
 * @param having a text that the lines have
 */
export const logLines = ({ output }: Pick<FollowedService, 'output'>, having = ''): LogLine[] =>
  output()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}') && line.includes(having))
    .map((line) => JSON.parse(line))
    .filter((line) => typeof line.event === 'string');

/** Every audit line of a service; each is written before its answer is sent. */
export const auditLines = ({ audit }: FollowedService): LogLine[] =>
  audit()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

/** The audit lines that an action causes, without what every line has. */
export async function auditDuring(
  service: FollowedService,
  action: () => Promise<unknown>,
): Promise<Partial<LogLine>[]> {
  const before = auditLines(service).length;
  await action();
  return auditLines(service)
    .slice(before)
    .map(({ timestamp, level, message, service: name, event, lambda_request_id, ...fields }) => {
      const ofEach = { level: 'INFO', message: 'audit', name: 'login-service', event: 'audit' };
      expect({ level, message, name, event }).toEqual(ofEach);
      expect(lambda_request_id).toEqual(expect.any(String));
      expect(timestamp).toMatch(/^\d{4}-.*Z$/);
      return fields;
    });
}

/**
 * The last line of an event that has these fields. Waits for it: a process's output comes some
 * moments later.
 */
export async function logLine(
  service: Pick<FollowedService, 'output'>,
  event: string,
  fields: Record<string, unknown> = {},
): Promise<LogLine> {
  const hasFields = (line: LogLine) =>
    Object.entries(fields).every(([name, value]) => line[name] === value);
  const found = await eventually(
    () => logLines(service, event).findLast((line) => line.event === event && hasFields(line)),
    (line) => line !== undefined,
  );
  if (!found) throw new Error(`There is no line ${event} with ${JSON.stringify(fields)}.`);
  return found;
}

export async function writtenDuring(
  service: FollowedService,
  action: () => Promise<unknown>,
): Promise<string> {
  const before = await everythingSoFar(service);
  await action();
  return (await everythingSoFar(service)).slice(before.length);
}

/**
 * All that a service has written. The line of one more request shows that everything before it has
 * arrived.
 */
async function everythingSoFar({ output, demo }: FollowedService): Promise<string> {
  const requestsIn = (text: string) =>
    text.split('\n').filter((line) => line.startsWith(`GET ${keysPath} `)).length;
  const seen = requestsIn(output());
  await fetch(`${demo.base_url}${keysPath}`);
  const written = await eventually(output, (text) => requestsIn(text) > seen);
  if (requestsIn(written) === seen) throw new Error(`The line of GET ${keysPath} did not come.`);
  return written;
}
