import { readFileSync } from 'node:fs';
import type { FunctionTarget } from '../invoke-function.ts';
import { localFiles } from '../local/local-files.ts';

/** The stack that a command is for. */
export type Target = { local: true } | { local: false; stack: string };

const noStackHere = 'No stack runs on this machine. Start one with npm start.';

/** The operator function of a stack. @throws Error when no stack runs on this machine */
export function functionOf(target: Target): FunctionTarget {
  if (!target.local) return { name: `${target.stack}-operator` };
  try {
    const { aws_endpoint } = JSON.parse(readFileSync(localFiles().stack, 'utf8'));
    return { name: 'operator', endpoint: String(aws_endpoint) };
  } catch {
    throw new Error(noStackHere);
  }
}

/** An error of an AWS client. */
type Failure = { name?: string; code?: string; message?: string };

/** Codes of a connection that was never made, so that nothing was changed. */
const noConnection = ['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'];

/** Advice after an operator function could not be called; the error's own message where there is none. */
export function explainFailure(error: unknown, { name, endpoint }: FunctionTarget): string {
  const failure: Failure = Object(error);
  if (endpoint) return failure.code === 'ECONNREFUSED' ? noStackHere : String(failure.message);
  if (failure.name === 'ResourceNotFoundException') {
    return `There is no function ${name} in this AWS account and region. Name another stack with --stack, or change AWS_PROFILE or AWS_REGION.`;
  }
  return explainAwsFailure(failure);
}

/** Advice when AWS could not be asked; the error's own message where there is none. */
export function explainAwsFailure(failure: Failure): string {
  if (failure.message === 'Region is missing') {
    return 'No AWS region is set: set AWS_REGION, or AWS_PROFILE to a profile with a region.';
  }
  if (noConnection.includes(failure.code ?? '')) {
    return `AWS cannot be reached (${failure.message}): check the network, and AWS_REGION or the region of AWS_PROFILE.`;
  }
  switch (failure.name) {
    case 'CredentialsProviderError':
    case 'TokenProviderError':
      return 'No AWS credentials were found: log in with aws sso login, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.';
    case 'ExpiredTokenException':
      return 'Your AWS credentials have expired: log in again, for example with aws sso login.';
    case 'UnrecognizedClientException':
    case 'InvalidSignatureException':
      return 'AWS does not accept your credentials: check AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.';
    default:
      return String(failure.message);
  }
}
