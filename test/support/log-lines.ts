import { setTimeout as wait } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { keysPath } from '../../lib/tokens/issuer.ts';
import type { FollowedService } from './start-service.ts';

/** A structured line of the log. */
export type LogLine = Record<string, unknown> & { event: string };

/** Every structured line that a service has written so far. */
export const logLines = ({ output }: FollowedService): LogLine[] =>
  output()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
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
    .map(({ timestamp, level, message, service: name, event, ...fields }) => {
      const ofEach = { level: 'INFO', message: 'audit', name: 'login-service', event: 'audit' };
      expect({ level, message, name, event }).toEqual(ofEach);
      expect(timestamp).toMatch(/^\d{4}-.*Z$/);
      return fields;
    });
}

/** The last line of an event that has these fields. Waits for it: a process's output comes some moments later. */
export async function logLine(
  service: FollowedService,
  event: string,
  fields: Record<string, unknown> = {},
): Promise<LogLine> {
  for (let tries = 0; tries < 3_000; tries++) {
    const found = logLines(service).findLast(
      (line) => line.event === event && Object.entries(fields).every(([name, value]) => line[name] === value),
    );
    if (found) return found;
    await wait(20);
  }
  throw new Error(`There is no line ${event} with ${JSON.stringify(fields)}.`);
}

/** What a service writes while an action runs. */
export async function writtenDuring(
  service: FollowedService,
  action: () => Promise<unknown>,
): Promise<string> {
  const before = await everythingSoFar(service);
  await action();
  return (await everythingSoFar(service)).slice(before.length);
}

/** All that a service has written. The line of one more request shows that everything before it has arrived. */
async function everythingSoFar({ output, demo }: FollowedService): Promise<string> {
  const request = new RegExp(`^GET ${keysPath} .*$`, 'gm');
  const seen = output().match(request)?.length ?? 0;
  await fetch(`${demo.base_url}${keysPath}`);
  for (let tries = 0; tries < 3_000; tries++) {
    const written = output();
    if ((written.match(request)?.length ?? 0) > seen) return written;
    await wait(20);
  }
  throw new Error(`The line of GET ${keysPath} did not come.`);
}
