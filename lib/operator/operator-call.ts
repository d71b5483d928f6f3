import { hash } from 'node:crypto';
import * as v from 'valibot';
import { optionalEnvironment } from '../foundation/environment.ts';
import { ServiceError } from '../foundation/service-error.ts';

/** The event of the operator function. */
export const operatorCallSchema = v.object({
  noun: v.string(),
  verb: v.string(),
  flags: v.custom<Record<string, unknown>>(
    (flags) => flags instanceof Object && !Array.isArray(flags),
  ),
  /**
   * The proof of who calls: the query of a presigned GetCallerIdentity request, signed for this
   * command alone.
   */
  proof: v.optional(v.unknown()),
});
export type OperatorCall = v.InferOutput<typeof operatorCallSchema>;

/** The answer to a command: one JSON object, or why nothing was changed. */
export const operatorAnswerSchema = v.union([
  v.object({ result: v.record(v.string(), v.unknown()) }),
  v.object({ error: v.string() }),
]);
export type OperatorAnswer = v.InferOutput<typeof operatorAnswerSchema>;

/**
 * The query of the request to STS.
 * @see AWS STS API reference, "GetCallerIdentity"
 */
export const identityQuestion = { Action: 'GetCallerIdentity', Version: '2011-06-15' } as const;

/** The signed header with the hash of the command: a proof is worth nothing for another one. */
export const commandHeader = 'x-login-service-command';

/** The host of STS in a region, which the signature covers too. */
export const stsHost = (region: string): string =>
  `sts.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;

export const hashOfCommand = (functionName: string, { noun, verb, flags }: OperatorCall): string =>
  hash('sha256', JSON.stringify([functionName, noun, verb, flags]), 'hex');

/** Milliseconds within which STS must answer. */
const answerMilliseconds = 10_000;

/** The parameters that a presigned request to STS may have, each once. */
const parameters = [
  ...Object.keys(identityQuestion),
  'X-Amz-Algorithm',
  'X-Amz-Content-Sha256',
  'X-Amz-Credential',
  'X-Amz-Date',
  'X-Amz-Expires',
  'X-Amz-Security-Token',
  'X-Amz-Signature',
  'X-Amz-SignedHeaders',
];

/**
 * Asks STS who signed the proof. The signature covers the hash of the command, so whoever sees a
 * proof can at most repeat that command, for 15 minutes. Only identities of the function's own AWS
 * account count: in another account, a caller could choose the names of users and roles, and so
 * stay unknown.
 * @returns the ARN of a user or an assumed role
 * @throws ServiceError `unauthorized` for a proof that is malformed or that STS does not accept
 * @see Signature Version 4 signing process; the IAM authentication of Vault and EKS works alike
 */
export async function identifyOperator(call: OperatorCall, functionArn: string): Promise<string> {
  const query = readProof(call.proof);
  const functionName = optionalEnvironment('AWS_LAMBDA_FUNCTION_NAME') ?? 'operator';
  // Never at an address of the caller's choice, whose server could answer with any identity.
  const response = await fetch(`${stsAddress()}/?${query}`, {
    headers: { [commandHeader]: hashOfCommand(functionName, call) },
    redirect: 'error',
    signal: AbortSignal.timeout(answerMilliseconds),
  });
  const [, arn] = (await response.text()).match(/<Arn>(arn:[\w+=,.@:/-]{1,600})<\/Arn>/) ?? [];
  if (response.status >= 500) throw new Error(`STS answered ${response.status}.`);
  if (!response.ok || arn === undefined || accountOf(arn) !== accountOf(functionArn))
    throw notProven();
  return arn;
}

/** The AWS account of an ARN: `arn:aws:iam::ACCOUNT:user/alice`. */
const accountOf = (arn: string): string | undefined => arn.split(':')[4];

/** The address at which the SDK would look for STS. */
const stsAddress = (): string =>
  optionalEnvironment('AWS_ENDPOINT_URL_STS') ??
  optionalEnvironment('AWS_ENDPOINT_URL') ??
  `https://${stsHost(optionalEnvironment('AWS_REGION') ?? '')}`;

function readProof(proof: unknown): string {
  if (typeof proof !== 'string' || proof.length > 8_192) throw notProven();
  const query = new URLSearchParams(proof);
  const names = [...query.keys()];
  const isKnown =
    names.every((name) => parameters.includes(name)) && new Set(names).size === names.length;
  const asksWho = Object.entries(identityQuestion).every(
    ([name, value]) => query.get(name) === value,
  );
  const signed = query.get('X-Amz-SignedHeaders')?.split(';') ?? [];
  if (!isKnown || !asksWho || !signed.includes(commandHeader)) throw notProven();
  return query.toString();
}

const unproven =
  'The call does not prove who makes it. Use npm run operator, with a clock that is right.';
const notProven = () => new ServiceError('unauthorized', unproven);
