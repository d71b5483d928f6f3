import type { Access } from './service-function.ts';

/** The functions that no endpoint leads to, beside the route table: the name is that of the file in `functions/`. */
export const functionsWithoutRoute = {
  operator: {
    summary: 'Carries out the commands of the operator',
    tableActions: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
    secrets: ['service-secret'],
  },
  /** What it may do with the signing keys comes with the rotation itself. */
  'rotate-signing-keys': {
    summary: 'Rotates the signing keys',
    tableActions: ['GetItem', 'PutItem'],
    secrets: [],
  },
} as const satisfies Record<string, Access>;
