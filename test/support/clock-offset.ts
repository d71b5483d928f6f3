import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const offsetFile = (directory: string): string => join(directory, 'clock-offset');

/** Seconds by which the clock of the service with this directory goes fast. */
export function clockOffset(directory: string): number {
  const file = offsetFile(directory);
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
}

/** Moves that clock, by seconds. The file is replaced whole, so that the service reads the one time or the other. */
export function moveClock(directory: string, seconds: number): void {
  const file = offsetFile(directory);
  writeFileSync(`${file}.new`, String(clockOffset(directory) + seconds));
  renameSync(`${file}.new`, file);
}
