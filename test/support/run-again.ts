import { runFailedAgain } from './commands.ts';
import { runCheck } from './steps.ts';

// What `.ci/run` does when jest has failed; the arguments are jest's.
runCheck(() => runFailedAgain(process.argv.slice(2)));
