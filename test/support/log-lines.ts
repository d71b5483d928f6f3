import { setTimeout as wait } from 'node:timers/promises';
import type { RunningService } from './start-service.ts';

/** A structured line of the log. */
export type LogLine = Record<string, unknown> & { event: string };

/** Every structured line that a service has written so far. */
export const logLines = ({ output }: RunningService): LogLine[] =>
  output()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line))
    .filter((line) => typeof line.event === 'string');

/** The last line of an event that has these fields. Waits for it: a process's output comes some moments later. */
export async function logLine(
  service: RunningService,
  event: string,
  fields: Record<string, unknown> = {},
): Promise<LogLine> {
  for (let tries = 0; tries < 250; tries++) {
    const found = logLines(service).findLast(
      (line) => line.event === event && Object.entries(fields).every(([name, value]) => line[name] === value),
    );
    if (found) return found;
    await wait(20);
  }
  throw new Error(`There is no line ${event} with ${JSON.stringify(fields)}.`);
}
