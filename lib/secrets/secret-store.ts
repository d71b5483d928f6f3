import {
  DescribeSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import * as v from 'valibot';
import { requestTimeouts } from '../foundation/aws-client.ts';

// Two attempts: a login reads three secrets.
const client = new SecretsManagerClient(requestTimeouts(2));

/**
 * The text of a version of a secret, or of the current one, eventually consistent.
 * @throws Error if it has none
 */
export async function readSecret(SecretId: string, VersionId?: string): Promise<string> {
  const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId, VersionId }));
  if (SecretString === undefined) throw new Error('The secret has no text value.');
  return SecretString;
}

/** The value that a rotation has prepared under a version id, if any. */
export async function readPendingSecret(
  SecretId: string,
  VersionId: string,
): Promise<string | undefined> {
  const pending = new GetSecretValueCommand({ SecretId, VersionId, VersionStage: 'AWSPENDING' });
  try {
    return (await client.send(pending)).SecretString;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
}

export async function putCurrentSecret(secretId: string, value: string): Promise<void> {
  await client.send(new PutSecretValueCommand({ SecretId: secretId, SecretString: value }));
}

/**
 * Describes a secret: its latest rotation, and the ids of the current and of the prepared version,
 * if any.
 */
export async function describeSecret(SecretId: string) {
  const secret = await client.send(new DescribeSecretCommand({ SecretId }));
  const versions = Object.entries(secret.VersionIdsToStages ?? {});
  const versionAt = (stage: string): string | undefined => {
    const [id] = versions.find(([, stages]) => stages.includes(stage)) ?? [];
    return id;
  };
  return {
    rotated: secret.LastRotatedDate,
    current: versionAt('AWSCURRENT'),
    pending: versionAt('AWSPENDING'),
  };
}

/** Gives up a prepared version. The next rotation prepares another. */
export async function abandonPending(SecretId: string, RemoveFromVersionId: string): Promise<void> {
  const VersionStage = 'AWSPENDING';
  await client.send(
    new UpdateSecretVersionStageCommand({ SecretId, VersionStage, RemoveFromVersionId }),
  );
}

/** Reads the event of Secrets Manager, which calls a rotation function four times per rotation. */
function readStep(event: unknown) {
  const stepSchema = v.object({
    SecretId: v.string(),
    /** The id of the prepared version. */
    ClientRequestToken: v.string(),
    Step: v.picklist(['createSecret', 'setSecret', 'testSecret', 'finishSecret']),
  });
  return v.parse(stepSchema, event);
}
type RotationStep = ReturnType<typeof readStep>;

/**
 * Seconds for which a function may still read the secret from before a change: reads are eventually
 * consistent.
 */
export const staleReadSeconds = 60;

/** The rotation of a kind of secret. Steps may be repeated. */
interface Rotation<Value> {
  /** @throws Error for another text */
  parse: (text: string, secretId: string) => Value;
  /**
   * Makes the value that follows the current one.
   * @throws Error if it is too early
   */
  next: (secretId: string) => Promise<Value>;
  /**
   * Makes everything ready for a value to become the current one.
   * @throws Error if it must not
   */
  ready: (prepared: Value, step: RotationStep) => Promise<void>;
  /** Does what is left when the value is the current one. */
  finish: (current: Value, secretId: string) => Promise<void>;
}

/**
 * A rotation function.
 * @see AWS Secrets Manager user guide, "Lambda rotation functions"
 */
export function rotation<Value>({ parse, next, ready, finish }: Rotation<Value>) {
  async function makeReady(step: RotationStep): Promise<void> {
    const text = await readPendingSecret(step.SecretId, step.ClientRequestToken);
    if (text === undefined) throw new Error('The rotation has prepared nothing, or was given up.');
    await ready(parse(text, step.SecretId), step);
  }
  const steps: Record<RotationStep['Step'], (step: RotationStep) => Promise<void>> = {
    async createSecret({ SecretId, ClientRequestToken }) {
      if (await readPendingSecret(SecretId, ClientRequestToken)) return;
      const SecretString = JSON.stringify(await next(SecretId));
      const version = { SecretId, ClientRequestToken, SecretString, VersionStages: ['AWSPENDING'] };
      await client.send(new PutSecretValueCommand(version));
    },
    setSecret: makeReady,
    testSecret: makeReady,
    async finishSecret(step) {
      const { SecretId, ClientRequestToken } = step;
      // Read first: if the current version changes during the check, this step fails.
      const { current } = await describeSecret(SecretId);
      if (current !== ClientRequestToken) {
        await makeReady(step);
        const change = new UpdateSecretVersionStageCommand({
          SecretId,
          VersionStage: 'AWSCURRENT',
          MoveToVersionId: ClientRequestToken,
          RemoveFromVersionId: current,
        });
        await client.send(change);
      }
      // The value is read by its version, since the stage may still lead to the one before.
      const text = await readSecret(SecretId, ClientRequestToken);
      await finish(parse(text, SecretId), SecretId);
    },
  };
  return async (event: unknown): Promise<void> => {
    const step = readStep(event);
    await steps[step.Step](step);
  };
}

/**
 * Gives up a rotation.
 * @throws Error with the reason
 */
export async function giveUp(
  { SecretId, ClientRequestToken }: RotationStep,
  reason: string,
): Promise<never> {
  await abandonPending(SecretId, ClientRequestToken);
  throw new Error(reason);
}
