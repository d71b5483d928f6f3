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
type Call = v.InferOutput<typeof callSchema>;

interface Secret {
  values: Map<string, string>;
  /** Stage to version id. */
  stages: Map<string, string>;
}

interface SecretsAnswer {
  status: number;
  body: unknown;
}

const textsSchema = v.record(v.string(), v.string());
const savedSecretsSchema = v.record(v.string(), v.object({ values: textsSchema, stages: textsSchema }));

/** The part of AWS Secrets Manager that reads and rotates secrets: in memory, and in a file if one is named. */
export class LocalSecrets {
  readonly #secrets: Map<string, Secret>;
  readonly #file: string | undefined;

  constructor(file?: string) {
    this.#file = file;
    const saved = file && existsSync(file) ? readWhole(file, savedSecretsSchema) : {};
    this.#secrets = new Map(
      Object.entries(saved).map(([id, { values, stages }]) => [
        id,
        { values: new Map(Object.entries(values)), stages: new Map(Object.entries(stages)) },
      ]),
    );
  }

  /** Creates a secret, unless there is one of that name. */
  create(id: string, value: string): void {
    if (this.#secrets.has(id)) return;
    const version = randomUUID();
    this.#secrets.set(id, {
      values: new Map([[version, value]]),
      stages: new Map([['AWSCURRENT', version]]),
    });
    this.#save();
  }

  /** The value that a secret has now; undefined if there is no such secret. */
  current(id: string): string | undefined {
    const { values, stages } = this.#secrets.get(id) ?? {};
    return values?.get(stages?.get('AWSCURRENT') ?? '');
  }

  /** Answers one call, named as in the header `x-amz-target`: `secretsmanager.GetSecretValue`. */
  answer(target: string, body: unknown): SecretsAnswer {
    const action = actions[target.replace('secretsmanager.', '')];
    const input = v.parse(callSchema, body);
    const secret = this.#secrets.get(input.SecretId);
    if (!action || !secret) return notFound;
    const answer = action(secret, input);
    if (target.includes('Put') || target.includes('Update')) this.#save();
    return answer;
  }

  #save(): void {
    if (!this.#file) return;
    const secrets = [...this.#secrets].map(([id, { values, stages }]) => [
      id,
      { values: Object.fromEntries(values), stages: Object.fromEntries(stages) },
    ]);
    writeWhole(this.#file, Object.fromEntries(secrets));
  }
}

const actions: Record<string, (secret: Secret, input: Call) => SecretsAnswer> = {
  GetSecretValue({ values, stages }, { VersionId, VersionStage = VersionId ? undefined : 'AWSCURRENT' }) {
    const staged = VersionStage && stages.get(VersionStage);
    const version = VersionId ?? staged;
    const agree = VersionStage === undefined || staged === version;
    const value = version && agree ? values.get(version) : undefined;
    return value === undefined
      ? notFound
      : { status: 200, body: { SecretString: value, VersionId: version } };
  },
  PutSecretValue(secret, { ClientRequestToken = randomUUID(), SecretString = '', VersionStages }) {
    secret.values.set(ClientRequestToken, SecretString);
    for (const stage of VersionStages) secret.stages.set(stage, ClientRequestToken);
    return { status: 200, body: { VersionId: ClientRequestToken } };
  },
  DescribeSecret({ stages }) {
    const stagesOf = Map.groupBy(stages, ([, version]) => version);
    const named = [...stagesOf].map(([version, staged]) => [version, staged.map(([stage]) => stage)]);
    return { status: 200, body: { VersionIdsToStages: Object.fromEntries(named) } };
  },
  UpdateSecretVersionStage({ stages }, { VersionStage = '', MoveToVersionId, RemoveFromVersionId }) {
    if (stages.get(VersionStage) !== RemoveFromVersionId) return stageElsewhere;
    if (MoveToVersionId) stages.set(VersionStage, MoveToVersionId);
    else stages.delete(VersionStage);
    return { status: 200, body: {} };
  },
};

const stageElsewhere: SecretsAnswer = {
  status: 400,
  body: { __type: 'InvalidParameterException', message: 'The staging label is attached to another version.' },
};

const notFound: SecretsAnswer = {
  status: 400,
  body: { __type: 'ResourceNotFoundException', message: "Secrets Manager can't find the specified secret." },
};
