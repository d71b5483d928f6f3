import * as v from 'valibot';

/** The event with which Secrets Manager calls a rotation function, four times per rotation. @see AWS Secrets Manager user guide, "Lambda rotation functions" */
export const rotationStepSchema = v.object({
  SecretId: v.string(),
  /** The id of the version that this rotation makes. */
  ClientRequestToken: v.string(),
  Step: v.picklist(['createSecret', 'setSecret', 'testSecret', 'finishSecret']),
});
export type RotationStep = v.InferOutput<typeof rotationStepSchema>;

/** Seconds for which a function may still read a secret as it was before: Secrets Manager is eventually consistent. */
export const staleReadSeconds = 60;
