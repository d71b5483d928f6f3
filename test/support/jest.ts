import { run } from './commands.ts';

/** Runs jest over the tests whose path fits one of the patterns. @throws Error when a test fails */
export const runJest = (words: string[], environment: Record<string, string>): Promise<void> =>
  run(['npm', 'run', '--silent', 'jest', '--', ...words], { environment });
