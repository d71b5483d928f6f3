import type * as v from 'valibot';
import { type Refuse, validated } from '../validation.ts';
import type { Step } from './endpoint.ts';

/** The step that makes of `event.input` what the schema says, or refuses it. */
export const validate = (schema: v.GenericSchema, refuse: Refuse): Step => ({
  before: ({ event }) => {
    event.input = validated(schema, event.input, refuse);
  },
});
