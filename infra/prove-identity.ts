import { LambdaClient } from '@aws-sdk/client-lambda';
import { SignatureV4 } from '@smithy/signature-v4';
import { commandHeader, hashOfCommand, identityQuestion, stsHost } from '../lib/operator/identity-request.ts';
import type { OperatorCommand } from '../lib/operator/operator-call.ts';
import { type FunctionTarget, localAws } from './invoke-function.ts';

/** Seconds for which a proof is meant; STS itself takes it for up to 15 minutes. */
const lifetime = 60;

/**
 * Proves to the operator function whose AWS credentials these are, without showing them: the query of a GetCallerIdentity
 * request, presigned for this command. On this machine, it is the name of the user who is logged in.
 */
export async function proveIdentity(target: FunctionTarget, command: OperatorCommand): Promise<string> {
  const { credentials, region, sha256 } = new LambdaClient(
    target.endpoint ? localAws(target.endpoint, userName()) : {},
  ).config;
  const hostname = stsHost(await region());
  const signer = new SignatureV4({ service: 'sts', region, credentials, sha256 });
  const { query = {} } = await signer.presign(
    {
      method: 'GET',
      protocol: 'https:',
      hostname,
      path: '/',
      query: { ...identityQuestion },
      headers: { host: hostname, [commandHeader]: hashOfCommand(target.name, command) },
    },
    { expiresIn: lifetime },
  );
  const proof = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) proof.set(name, String(value));
  return proof.toString();
}

/** The name of the user who is logged in, for which the local stack takes the id of an access key. */
const userName = (): string => (process.env.USER || 'local').replaceAll(/[^\w.@-]/g, '-');
