import { readFileSync } from 'node:fs';
import type { FunctionTarget } from './invoke-function.ts';
import { localFiles } from './local/local-files.ts';
import { callOperator } from './operator/call-operator.ts';
import { helpFor } from './operator/help.ts';
import { parseCommandLine, type Target } from './operator/parse-command-line.ts';
import { progressBar } from './operator/progress-bar.ts';
import { sendLines } from './operator/send-lines.ts';

/**
 * The operator's command line: one JSON object on standard output, or one line on standard error and exit code 1.
 * When lines of a file were refused, which the object tells, the exit code is 2.
 */
async function main(words: string[]): Promise<void> {
  const line = parseCommandLine(words);
  if (line.help) {
    process.stdout.write(`${helpFor(line.noun, line.verb)}\n`);
    return;
  }
  const { noun, verb, flags, lines } = line;
  const call = (more: Record<string, unknown>) =>
    callOperator(functionOf(line.target), noun, verb, { ...flags, ...more });
  if (!lines) return print(await call({}));
  const summary = await sendLines(lines.file, (batch) => call({ [lines.flag]: batch }), progressBar());
  print({ ...summary });
  if (summary.refused > 0) process.exitCode = 2;
}

const print = (result: Record<string, unknown>): void =>
  void process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);

function functionOf(target: Target): FunctionTarget {
  if (!target.local) return { name: `${target.stack}-operator` };
  try {
    const { aws_endpoint } = JSON.parse(readFileSync(localFiles().stack, 'utf8'));
    return { name: 'operator', endpoint: String(aws_endpoint) };
  } catch {
    throw new Error('No stack runs on this machine; npm start starts one.');
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const [line] = String(error instanceof Error ? error.message : error).split('\n');
  process.stderr.write(`${line}\n`);
  process.exitCode = 1;
});
