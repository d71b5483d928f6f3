import {
  DescribeSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { requestTimeouts } from '../foundation/aws-client.ts';

/** Two attempts: a login reads three secrets. */
const client = new SecretsManagerClient(requestTimeouts(2));

/**
 * The value of a version of a secret, or of the current one. Secrets Manager is eventually consistent: that may be the one
 * before for a while after it has changed.
 * @throws Error when it has no text value
 */
export async function readSecret(SecretId: string, VersionId?: string): Promise<string> {
  const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId, VersionId }));
  if (SecretString === undefined) throw new Error('The secret has no text value.');
  return SecretString;
}

/** The time of a secret's latest rotation; undefined when it never was rotated. */
export const lastRotation = async (SecretId: string): Promise<Date | undefined> =>
  (await client.send(new DescribeSecretCommand({ SecretId }))).LastRotatedDate;

/** The value that a rotation has prepared under a version id; undefined when it has prepared none. */
export async function readPendingSecret(SecretId: string, VersionId: string): Promise<string | undefined> {
  const pending = new GetSecretValueCommand({ SecretId, VersionId, VersionStage: 'AWSPENDING' });
  try {
    return (await client.send(pending)).SecretString;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
}

/** Stores a value under a version id; the current version stays current. */
export async function putPendingSecret(secretId: string, versionId: string, value: string): Promise<void> {
  await client.send(
    new PutSecretValueCommand({
      SecretId: secretId,
      ClientRequestToken: versionId,
      SecretString: value,
      VersionStages: ['AWSPENDING'],
    }),
  );
}

export async function putCurrentSecret(secretId: string, value: string): Promise<void> {
  await client.send(new PutSecretValueCommand({ SecretId: secretId, SecretString: value }));
}

/** The ids of the current version of a secret, and of the one that a rotation has prepared; undefined where there is none. */
export async function versionsOf(secretId: string) {
  const { VersionIdsToStages = {} } = await client.send(new DescribeSecretCommand({ SecretId: secretId }));
  const at = (stage: string) =>
    Object.entries(VersionIdsToStages).find(([, stages]) => stages.includes(stage))?.[0];
  return { current: at('AWSCURRENT'), pending: at('AWSPENDING') };
}

/**
 * Makes a version the current one.
 * @param from the version that is current, from `versionsOf`
 * @throws Error when another one has become current meanwhile
 */
export const makeCurrent = (secretId: string, versionId: string, from: string | undefined) =>
  moveStage(secretId, 'AWSCURRENT', { MoveToVersionId: versionId, RemoveFromVersionId: from });

/** Gives up a version that a rotation has prepared. The next rotation prepares another. */
export const abandonPending = (secretId: string, versionId: string) =>
  moveStage(secretId, 'AWSPENDING', { RemoveFromVersionId: versionId });

async function moveStage(
  SecretId: string,
  VersionStage: string,
  versions: { MoveToVersionId?: string; RemoveFromVersionId: string | undefined },
): Promise<void> {
  await client.send(new UpdateSecretVersionStageCommand({ SecretId, VersionStage, ...versions }));
}
