import { nodeProblem } from './node-version.ts';

// Runs before all else that an app loads with the package, of which an older Node understands only
// a part.
const problem = nodeProblem();
if (problem !== undefined) throw new Error(problem);
