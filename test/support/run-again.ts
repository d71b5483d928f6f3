import { runFailedAgain } from './commands.ts';

// What `.ci/run` does when jest has failed; the arguments are jest's options.
await runFailedAgain(process.argv.slice(2));
