import * as v from 'valibot';
import { described, fieldPathSchema, providerUrlSchema, textSchema } from '../settings/fields.ts';
import { hostOf, namespace } from '../settings/namespace.ts';

export const oauth1SettingsSchema = v.pipe(
  v.strictObject({
    verify_url: described(
      providerUrlSchema,
      "is called, signed by HMAC-SHA1 with your key and the person's token",
    ),
    consumer_key: described(textSchema, 'your consumer key'),
    consumer_secret: described(textSchema, 'its secret'),
    subject_field: described(
      v.optional(fieldPathSchema, 'id_str'),
      "where the answer has the person's id, as text",
    ),
    namespace,
  }),
  v.transform((settings) => ({ ...settings, namespace: settings.namespace ?? hostOf(settings.verify_url) })),
);
export type OAuth1Settings = v.InferOutput<typeof oauth1SettingsSchema>;
