import type { Authentication } from './credentials.ts';

/** For what is public. */
export const anybody: Authentication<undefined> = { scheme: 'none', identify: async () => undefined };
