import * as v from 'valibot';
import {
  abandonPending,
  makeCurrent,
  putPendingSecret,
  readPendingSecret,
  readSecret,
  versionsOf,
} from './secret-store.ts';

/** The event with which Secrets Manager calls a rotation function, four times per rotation. */
export const rotationStepSchema = v.object({
  SecretId: v.string(),
  /** The id of the version that this rotation makes. */
  ClientRequestToken: v.string(),
  Step: v.picklist(['createSecret', 'setSecret', 'testSecret', 'finishSecret']),
});
type RotationStep = v.InferOutput<typeof rotationStepSchema>;

/** Seconds for which a function may still read a secret as it was before: Secrets Manager is eventually consistent. */
export const staleReadSeconds = 60;

/** The parts of a rotation that differ from one kind of secret to another. Whatever is done for a step may be repeated. */
interface Rotation<Value> {
  /** Reads a value. @throws Error when the text is none */
  parse: (text: string, secretId: string) => Value;
  /** Makes the value that follows the current one. @throws Error when it is too early for one */
  next: (secretId: string) => Promise<Value>;
  /** Makes everything ready for a value that is to become the current one. @throws Error when it must not */
  ready: (prepared: Value, step: RotationStep) => Promise<void>;
  /** Does what is left to do when the value is the current one. */
  finish: (current: Value, secretId: string) => Promise<void>;
}

/** Makes the function that carries out the steps of a rotation. @see AWS Secrets Manager user guide, "Lambda rotation functions" */
export function rotation<Value>({ parse, next, ready, finish }: Rotation<Value>) {
  async function makeReady(step: RotationStep): Promise<void> {
    const text = await readPendingSecret(step.SecretId, step.ClientRequestToken);
    if (text === undefined) throw new Error('The rotation has prepared nothing, or was given up.');
    await ready(parse(text, step.SecretId), step);
  }
  const steps: Record<RotationStep['Step'], (step: RotationStep) => Promise<void>> = {
    async createSecret({ SecretId, ClientRequestToken }) {
      if (await readPendingSecret(SecretId, ClientRequestToken)) return;
      await putPendingSecret(SecretId, ClientRequestToken, JSON.stringify(await next(SecretId)));
    },
    setSecret: makeReady,
    testSecret: makeReady,
    /** The current version is asked for first, so that a change of it while the value is checked makes this step fail. */
    async finishSecret(step) {
      const { SecretId, ClientRequestToken } = step;
      const { current } = await versionsOf(SecretId);
      if (current !== ClientRequestToken) {
        await makeReady(step);
        await makeCurrent(SecretId, ClientRequestToken, current);
      }
      // By its version: the stage may still lead to the one before.
      await finish(parse(await readSecret(SecretId, ClientRequestToken), SecretId), SecretId);
    },
  };
  return (step: RotationStep): Promise<void> => steps[step.Step](step);
}

/** Gives up what a rotation has prepared, so that the next rotation prepares something else. @throws Error with the reason */
export async function giveUp({ SecretId, ClientRequestToken }: RotationStep, reason: string): Promise<never> {
  await abandonPending(SecretId, ClientRequestToken);
  throw new Error(reason);
}
