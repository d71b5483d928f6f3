import * as v from 'valibot';
import { fieldPath, providerUrl, text } from '../settings-fields.ts';

/** What an operator sets for an OAuth 1.0 provider. */
export const oauth1Settings = v.strictObject({
  verify_url: providerUrl,
  consumer_key: text,
  consumer_secret: text,
  /** Where the answer has the person's id. */
  subject_field: v.optional(fieldPath, 'id_str'),
});
export type OAuth1Settings = v.InferOutput<typeof oauth1Settings>;
