import { runOperator } from './run-operator.ts';

// Whoever reads the output may have seen enough, as head has.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) =>
  process.exit(code === 'EPIPE' ? 0 : 1),
);
process.exitCode = await runOperator(process.argv.slice(2), process);
