import { join } from 'node:path';

/** Where the running stack tells of itself. `LOCAL_DIR` keeps several stacks apart. */
export function localFiles(): { directory: string; demo: string; stack: string } {
  const directory = process.env.LOCAL_DIR ?? join(import.meta.dirname, '..', '..', '.local');
  return { directory, demo: join(directory, 'demo.json'), stack: join(directory, 'stack.json') };
}
