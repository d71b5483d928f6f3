import { defineCommands } from '../command.ts';
import { versions } from '../flags.ts';

// For `release back` and `release forward`, which work without the operator function, as it may be broken too.
export const releaseCommands = defineCommands({
  'release note': {
    summary: 'Note in the audit log which versions you have set live, if release could not',
    flags: { versions: versions('The functions, each with the version that is live from now on') },
    example: '--versions issue-token:11,add-comment:7',
    run: async ({ versions }) => ({ versions, noted: true }),
  },
});
