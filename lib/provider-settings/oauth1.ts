import * as v from 'valibot';
import { hostOf, namespace } from './namespace.ts';
import { described, fieldPath, providerUrl, text } from './settings-fields.ts';

/** Settings of an OAuth 1.0 provider. */
export const oauth1Settings = v.pipe(
  v.strictObject({
    verify_url: described(providerUrl, "is called, signed by HMAC-SHA1 with your key and the person's token"),
    consumer_key: described(text, 'your consumer key'),
    consumer_secret: described(text, 'its secret'),
    subject_field: described(
      v.optional(fieldPath, 'id_str'),
      "where the answer has the person's id, as text",
    ),
    namespace,
  }),
  v.transform((settings) => ({ ...settings, namespace: settings.namespace ?? hostOf(settings.verify_url) })),
);
export type OAuth1Settings = v.InferOutput<typeof oauth1Settings>;
