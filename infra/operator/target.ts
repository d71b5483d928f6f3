import type { FunctionTarget } from '../invoke-function.ts';
import { localFiles, readStackFile } from '../local/local-files.ts';

export type Target = { local: true } | { local: false; stack: string };

/** Advice when the stack of the folder `LOCAL_DIR` does not run; another folder may have one. */
const noStackHere = (): string =>
  `No stack runs with its files in ${localFiles().directory}. Start one with npm start, or name the folder of one that was started elsewhere: LOCAL_DIR=CLONE/.local.`;

/** The operator function of a stack. @throws Error when the stack on this machine does not run */
export function functionOf(target: Target): FunctionTarget {
  if (!target.local) return { name: `${target.stack}-operator` };
  try {
    return { name: 'operator', endpoint: readStackFile(localFiles()).aws_endpoint };
  } catch {
    throw new Error(noStackHere());
  }
}

type Failure = { name?: string; code?: string; message?: string };

/** Codes of a connection that was never made, so that nothing was changed. */
const noConnection = ['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'];

/** Advice after an operator function could not be called; the error's own message where there is none. */
export function explainFailure(error: unknown, { name, endpoint }: FunctionTarget): string {
  const failure: Failure = Object(error);
  if (endpoint) return failure.code === 'ECONNREFUSED' ? noStackHere() : String(failure.message);
  if (failure.name === 'ResourceNotFoundException')
    return `There is no function ${name} in this AWS account and region. Name another stack with --stack, or change ${profileVariable()} or AWS_REGION.`;
  return explainAwsFailure(failure);
}

/** The profile that AWS credentials and the region come from, when its name is given. */
const profile = (): string | undefined => process.env.AWS_PROFILE || undefined;

const profileVariable = (): string => (profile() ? `AWS_PROFILE (now ${profile()})` : 'AWS_PROFILE');

const lacking = (): string => `There is no AWS profile ${profile()}, which AWS_PROFILE names, or it has`;

/** Advice when AWS could not be asked; the error's own message where there is none. */
export function explainAwsFailure(failure: Failure): string {
  if (failure.message === 'Region is missing') {
    const why = profile() ? `${lacking()} no region` : 'No AWS region is set';
    return `${why}: set AWS_REGION, or AWS_PROFILE to a profile with a region.`;
  }
  if (noConnection.includes(failure.code ?? ''))
    return `AWS cannot be reached (${failure.message}): check the network, and AWS_REGION or the region of ${profileVariable()}.`;
  switch (failure.name) {
    case 'CredentialsProviderError':
    case 'TokenProviderError':
      return profile()
        ? `${lacking()} no credentials: log in with aws sso login --profile ${profile()}, or change AWS_PROFILE.`
        : 'No AWS credentials were found: log in with aws sso login, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.';
    case 'ExpiredTokenException':
      return 'Your AWS credentials have expired: log in again, for example with aws sso login.';
    case 'UnrecognizedClientException':
    case 'InvalidSignatureException':
      return `AWS does not accept your credentials: check ${profileVariable()}, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`;
    default:
      return String(failure.message);
  }
}
