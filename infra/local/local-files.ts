import { join } from 'node:path';

/** Where the running stack tells of itself. `LOCAL_DIR` keeps several stacks apart. */
export const localFiles = () =>
  filesIn(process.env.LOCAL_DIR ?? join(import.meta.dirname, '..', '..', '.local'));

/** Where a stack tells of itself in a folder. */
export const filesIn = (directory: string): { directory: string; demo: string; stack: string } => ({
  directory,
  demo: join(directory, 'demo.json'),
  stack: join(directory, 'stack.json'),
});
