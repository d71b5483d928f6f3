import type { RotationStep } from './rotation-step.ts';
import {
  abandonPending,
  makeCurrent,
  putPendingSecret,
  readPendingSecret,
  readSecret,
  versionsOf,
} from './secret-store.ts';

/** The parts of a rotation that differ from one kind of secret to another. Whatever is done for a step may be repeated. */
interface Rotation<Value> {
  /** Reads a prepared value. @throws Error when the text is none */
  parse: (text: string, secretId: string) => Value;
  /** Makes the value that follows the current one. */
  prepare: (secretId: string) => Promise<Value>;
  /** Adapts what was made with the secret to the prepared value. */
  apply?: (prepared: Value, step: RotationStep) => Promise<void>;
  /** Tests the prepared value. @throws Error when it must not be used */
  testSecret: (prepared: Value, step: RotationStep) => Promise<void>;
  /** Checks, last of all, that the prepared value may become the current one. @throws Error when it may not */
  check: (prepared: Value, step: RotationStep) => Promise<void>;
  /** Does what is left to do when the value is the current one. */
  finish: (current: Value, step: RotationStep) => Promise<void>;
}

/** Makes the function that carries out the steps of a rotation, as Secrets Manager asks for them. */
export function rotation<Value>({ parse, prepare, apply, testSecret, check, finish }: Rotation<Value>) {
  const prepared = async ({ SecretId, ClientRequestToken }: RotationStep): Promise<Value> => {
    const text = await readPendingSecret(SecretId, ClientRequestToken);
    if (text === undefined) throw new Error('The rotation has prepared nothing, or was given up.');
    return parse(text, SecretId);
  };
  const steps: Record<RotationStep['Step'], (step: RotationStep) => Promise<void>> = {
    async createSecret({ SecretId, ClientRequestToken }) {
      if (await readPendingSecret(SecretId, ClientRequestToken)) return;
      await putPendingSecret(SecretId, ClientRequestToken, JSON.stringify(await prepare(SecretId)));
    },
    setSecret: async (step) => apply?.(await prepared(step), step),
    testSecret: async (step) => testSecret(await prepared(step), step),
    /** The current version is asked for first, so that a change of it while the value is checked makes this step fail. */
    async finishSecret(step) {
      const { SecretId, ClientRequestToken } = step;
      const { current } = await versionsOf(SecretId);
      if (current !== ClientRequestToken) {
        await check(await prepared(step), step);
        await makeCurrent(SecretId, ClientRequestToken, current);
      }
      // By its version: the stage may still lead to the one before.
      await finish(parse(await readSecret(SecretId, ClientRequestToken), SecretId), step);
    },
  };
  return (step: RotationStep): Promise<void> => steps[step.Step](step);
}

/** Gives up what a rotation has prepared, so that the next rotation prepares something else. @throws Error with the reason */
export async function giveUp({ SecretId, ClientRequestToken }: RotationStep, reason: string): Promise<never> {
  await abandonPending(SecretId, ClientRequestToken);
  throw new Error(reason);
}
