import type { LambdaClientConfig } from '@aws-sdk/client-lambda';
import { SignatureV4 } from '@smithy/signature-v4';
import * as v from 'valibot';
import {
  commandHeader,
  hashOfCommand,
  identityQuestion,
  type OperatorCall,
  operatorAnswerSchema,
  stsHost,
} from '../../../lib/operator/operator-call.ts';
import { type FunctionTarget, invokeFunction, lambdaClient, localAws } from './invoke-function.ts';

/**
 * Runs a command in the operator function.
 * @throws Error saying why nothing was changed, or that nobody knows
 */
export async function callOperator(
  target: FunctionTarget,
  words: string,
  flags: Record<string, unknown>,
) {
  const [noun = '', ...rest] = words.split(' ');
  const command = { noun, verb: rest.join(' '), flags };
  const call: OperatorCall = { ...command, proof: await proveIdentity(target, command) };
  // These only read, or skip lines that exist, so they may be carried out twice.
  const isRepeatable = /\b(list|show|find|check|export|import)$/.test(words);
  const attempts = isRepeatable ? undefined : 1;
  const result = await invokeFunction(target, call, attempts).catch((error: unknown) => {
    const message = `No answer came, so ${words} may have been carried out: its audit line says so. Look there before you run it again.`;
    throw isLost(error) && !isRepeatable ? new Error(message) : error;
  });
  const answer = v.parse(operatorAnswerSchema, result);
  if ('error' in answer) throw new Error(answer.error);
  return answer.result;
}

/**
 * Whether a failed call may have arrived: the connection broke, or the answer came from something
 * between.
 */
function isLost(error: unknown): boolean {
  const { name, $metadata }: { name?: string; $metadata?: { httpStatusCode?: number } } =
    Object(error);
  return name === 'TimeoutError' || ($metadata?.httpStatusCode ?? 0) >= 500;
}

/** Seconds for which a proof is meant; STS accepts it for up to 15 minutes. */
const lifetime = 60;

/**
 * Proves whose AWS credentials these are, for one command. On this machine, the proof names the
 * user who is logged in.
 */
export async function proveIdentity(
  target: FunctionTarget,
  command: OperatorCall,
): Promise<string> {
  const config = target.endpoint ? localAws(target.endpoint, userName()) : {};
  return String(
    await presignQuestion(config, hashOfCommand(target.name, command), { expiresIn: lifetime }),
  );
}

/**
 * The query of a presigned GetCallerIdentity request.
 * @param config of an SDK client
 * @param hash of the command, signed too
 */
export async function presignQuestion(
  config: LambdaClientConfig,
  hash: string,
  options: { expiresIn: number; signingDate?: Date },
): Promise<URLSearchParams> {
  const { credentials, region, sha256 } = lambdaClient(config).config;
  const hostname = stsHost(await region());
  const signer = new SignatureV4({ service: 'sts', region, credentials, sha256 });
  const headers = { host: hostname, [commandHeader]: hash };
  const { query = {} } = await signer.presign(
    {
      method: 'GET',
      protocol: 'https:',
      hostname,
      path: '/',
      query: { ...identityQuestion },
      headers,
    },
    options,
  );
  return new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
}

/**
 * The name of the user who is logged in, as an access key's id, which the local stack takes for a
 * name.
 */
const userName = (): string => (process.env.USER || 'local').replaceAll(/[^\w.@-]/g, '-');
