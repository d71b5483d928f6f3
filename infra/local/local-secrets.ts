import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import * as v from 'valibot';
import { readWhole, writeWhole } from './local-files.ts';

const callSchema = v.object({
  SecretId: v.string(),
  VersionId: v.optional(v.string()),
  VersionStage: v.optional(v.string()),
  ClientRequestToken: v.optional(v.string()),
  SecretString: v.optional(v.string()),
  VersionStages: v.optional(v.array(v.string()), ['AWSCURRENT']),
  MoveToVersionId: v.optional(v.string()),
  RemoveFromVersionId: v.optional(v.string()),
});

const textsSchema = v.record(v.string(), v.string());
/** A secret: its values by version id, and the version id of each stage. */
const secretSchema = v.object({ values: textsSchema, stages: textsSchema });
type Secret = v.InferOutput<typeof secretSchema>;

export interface AwsAnswer {
  status: number;
  body?: unknown;
  xml?: string;
  headers?: Record<string, string>;
}

/**
 * The calls of AWS Secrets Manager that read and rotate secrets: in memory, and in a file if one is
 * named.
 */
export function localSecrets(file?: string) {
  const secrets: Record<string, Secret> =
    file && existsSync(file) ? readWhole(file, v.record(v.string(), secretSchema)) : {};
  const save = (): void => {
    if (file) writeWhole(file, secrets);
  };
  return {
    /** Creates a secret, unless there is one of that name. */
    create(id: string, value: string): void {
      if (secrets[id]) return;
      const version = randomUUID();
      secrets[id] = { values: { [version]: value }, stages: { AWSCURRENT: version } };
      save();
    },
    /** The current value of a secret; undefined if there is no such secret. */
    current(id: string): string | undefined {
      const { values, stages } = secrets[id] ?? {};
      return values?.[stages?.AWSCURRENT ?? ''];
    },
    /** Answers one call, named as in the header `x-amz-target`: `secretsmanager.GetSecretValue`. */
    answer(target: string, body: unknown): AwsAnswer {
      const action = actions[target.replace('secretsmanager.', '')];
      const input = v.parse(callSchema, body);
      const secret = secrets[input.SecretId];
      if (!action || !secret) return notFound;
      const answer = action(secret, input);
      if (target.includes('Put') || target.includes('Update')) save();
      return answer;
    },
  };
}

const done = (body: object): AwsAnswer => ({ status: 200, body });
export const rejected = (__type: string, message: string, status = 400): AwsAnswer => ({
  status,
  body: { __type, message },
});
const notFound = rejected(
  'ResourceNotFoundException',
  "Secrets Manager can't find the specified secret.",
);

const actions: Record<
  string,
  (secret: Secret, input: v.InferOutput<typeof callSchema>) => AwsAnswer
> = {
  GetSecretValue(
    { values, stages },
    { VersionId, VersionStage = VersionId ? undefined : 'AWSCURRENT' },
  ) {
    const staged = VersionStage && stages[VersionStage];
    const version = VersionId ?? staged;
    const agree = VersionStage === undefined || staged === version;
    const SecretString = version && agree ? values[version] : undefined;
    return SecretString === undefined ? notFound : done({ SecretString, VersionId: version });
  },
  PutSecretValue({ values, stages }, { ClientRequestToken, SecretString = '', VersionStages }) {
    const version = ClientRequestToken ?? randomUUID();
    values[version] = SecretString;
    for (const stage of VersionStages) stages[stage] = version;
    return done({ VersionId: version });
  },
  DescribeSecret({ stages }) {
    const stagesOf = Map.groupBy(Object.entries(stages), ([, version]) => version);
    const named = [...stagesOf].map(([version, staged]) => [
      version,
      staged.map(([stage]) => stage),
    ]);
    return done({ VersionIdsToStages: Object.fromEntries(named) });
  },
  UpdateSecretVersionStage(
    { stages },
    { VersionStage = '', MoveToVersionId, RemoveFromVersionId },
  ) {
    if (stages[VersionStage] !== RemoveFromVersionId)
      return rejected(
        'InvalidParameterException',
        'The staging label is attached to another version.',
      );
    if (MoveToVersionId) stages[VersionStage] = MoveToVersionId;
    else delete stages[VersionStage];
    return done({});
  },
};
