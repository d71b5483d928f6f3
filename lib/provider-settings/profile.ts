import * as v from 'valibot';
import { profileFields } from '../schema/profile.ts';
import { described, fieldPathSchema } from './settings-fields.ts';

/** The setting that says which claims about a person are kept, and where the provider's answer has each. */
export const profile = described(
  v.optional(
    v.record(
      v.picklist(profileFields, `must only have ${profileFields.join(', ')}`),
      fieldPathSchema,
      'must be a JSON object',
    ),
  ),
  'the claims about the person that are kept and shown: our name, such as `email`, and the field that has it ([profiles](#profiles)). Without it, none are',
);
export type ProfileSetting = v.InferOutput<typeof profile>;
