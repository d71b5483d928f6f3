import type { Command } from '../command.ts';

export const signingKeys = {
  revoke: {
    summary: 'Revoke a signing key that has leaked; another one signs, and its tokens stop within 5 minutes',
    flags: { kid: { kind: 'id', form: 'k_…', help: 'The id of the key: the kid of its tokens' } },
  },
} as const satisfies Record<string, Command>;
