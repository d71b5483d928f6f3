import * as v from 'valibot';
import {
  appErrorEntries,
  fieldPathSchema,
  hostOf,
  providerUrlSchema,
  textSchema,
} from '../settings/fields.ts';

export const oauth1SettingsSchema = v.pipe(
  v.strictObject({
    verify_url: providerUrlSchema,
    consumer_key: textSchema,
    consumer_secret: textSchema,
    subject_field: v.optional(fieldPathSchema, 'id_str'),
    namespace: v.optional(textSchema),
    error_field: v.optional(fieldPathSchema),
    ...appErrorEntries,
  }),
  v.transform((settings) => ({
    ...settings,
    namespace: settings.namespace ?? hostOf(settings.verify_url),
  })),
);

export type OAuth1Settings = v.InferOutput<typeof oauth1SettingsSchema>;
