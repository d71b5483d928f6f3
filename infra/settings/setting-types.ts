import type * as v from 'valibot';
import type { settingsSchema } from './setting-records.ts';

/** Settings that belong to the stack that the service is in. */
export const settingsOfStack = ['deployment', 'stack', 'account', 'region', 'tags'] as const;

type Entries = Omit<typeof settingsSchema.entries, (typeof settingsOfStack)[number]>;

/** The settings of a service; all are optional. */
export type ServiceSettings = {
  [Name in keyof Entries]?: v.InferOutput<Entries[Name]> | undefined;
};

/** The settings of a deployment, with their own defaults. */
export type GivenSettings = v.InferOutput<typeof settingsSchema>;
