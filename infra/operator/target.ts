import {
  CloudFormationClient,
  paginateListStacks,
  type StackStatus,
} from '@aws-sdk/client-cloudformation';
import { localFiles, readStackFile, runningStack } from '../local/local-files.ts';
import { loopback } from '../local/loopback-server.ts';
import { stackDescription, startCommand } from '../version.ts';
import { callOperator } from './call/call-operator.ts';
import type { AwsEndpoint, FunctionTarget } from './call/invoke-function.ts';

export type Target = { local: true } | { local: false; stack: string };

/** Advice when the stack of the folder `LOCAL_DIR` does not run; another folder may have one. */
const noStackHere = (): string =>
  `No stack runs with its files in ${localFiles().directory}. Start one with ${startCommand}, or name the folder of one that was started elsewhere: LOCAL_DIR=CLONE/.local.`;

export type Call = (
  words: string,
  flags: Record<string, unknown>,
) => Promise<Record<string, unknown>>;

/**
 * Returns what calls the operator function of a stack; its errors advise.
 * @throws Error when no stack runs on this machine
 */
export function callOf(target: Target): Call {
  const operator = functionOf(target);
  return (words, flags) =>
    callOperator(operator, words, flags).catch((error: unknown) => {
      throw new Error(explainFailure(error, operator));
    });
}

function functionOf(target: Target): FunctionTarget {
  if (!target.local) return { name: `${target.stack}-operator` };
  const endpoint = endpointHere();
  if (endpoint === undefined) throw new Error(noStackHere());
  const { protocol, hostname } = URL.parse(endpoint.url) ?? {};
  // A command may carry a provider's secret, and its answer a new one.
  if (protocol !== 'http:' || hostname !== loopback)
    throw new Error(
      `The file ${localFiles().stack} names another address than ${loopback}, to which --local sends nothing. Restart the stack, which writes it anew.`,
    );
  return { name: 'operator', endpoint };
}

/** The AWS services of the stack on this machine; undefined if it has left no file. */
function endpointHere(): AwsEndpoint | undefined {
  try {
    return readStackFile(localFiles()).aws_endpoint;
  } catch {
    return undefined;
  }
}

type Failure = { name?: string; code?: string; message?: string };

/** Codes of a connection that was never made, so that nothing was changed. */
const noConnection = ['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'];

function explainFailure(error: unknown, { name, endpoint }: FunctionTarget): string {
  const failure: Failure = Object(error);
  if (endpoint) return failure.code === 'ECONNREFUSED' ? noStackHere() : String(failure.message);
  if (failure.name === 'ResourceNotFoundException')
    return `There is no function ${name} in this AWS account and region. Name another stack with --stack, or change ${profileVariable()} or AWS_REGION.`;
  return explainAwsFailure(failure);
}

/** The variable with the profile of the AWS credentials and the region, and its value. */
function profileVariable(): string {
  const { AWS_PROFILE: profile } = process.env;
  return profile ? `AWS_PROFILE (now ${profile})` : 'AWS_PROFILE';
}

/** Advice when AWS could not be asked; the error's own message where there is none. */
export function explainAwsFailure(failure: Failure): string {
  if (failure.message === 'Region is missing')
    return `No AWS region is set: set AWS_REGION, or ${profileVariable()} to a profile with a region.`;
  if (noConnection.includes(failure.code ?? ''))
    return `AWS cannot be reached (${failure.message}): check the network, and AWS_REGION or the region of ${profileVariable()}.`;
  switch (failure.name) {
    case 'CredentialsProviderError':
    case 'TokenProviderError':
      return `No AWS credentials were found: log in with aws sso login, or set ${profileVariable()}, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`;
    case 'ExpiredTokenException':
      return 'Your AWS credentials have expired: log in again, for example with aws sso login.';
    case 'UnrecognizedClientException':
    case 'InvalidSignatureException':
      return `AWS does not accept your credentials: check ${profileVariable()}, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`;
    default:
      return String(failure.message);
  }
}

/** Milliseconds for which AWS is asked. */
const lookUpMilliseconds = 5_000;
const states: StackStatus[] = [
  'CREATE_COMPLETE',
  'UPDATE_COMPLETE',
  'UPDATE_IN_PROGRESS',
  'UPDATE_COMPLETE_CLEANUP_IN_PROGRESS',
  'UPDATE_ROLLBACK_COMPLETE',
  'UPDATE_ROLLBACK_FAILED',
  'IMPORT_COMPLETE',
];

/** Advice when no stack was named: those that may be meant. */
export async function whichStack(): Promise<string> {
  const [here, deployed] = await Promise.all([runningStack(localFiles()), explainDeployed()]);
  const local = here
    ? `--local is the one at ${here.url}`
    : `--local would be the one with its files in ${localFiles().directory}, which is not running`;
  return `Name the stack, with --local or --stack NAME; nothing was changed. ${local}. ${deployed}`;
}

async function explainDeployed(): Promise<string> {
  const client = new CloudFormationClient({ maxAttempts: 1 });
  const abortSignal = AbortSignal.timeout(lookUpMilliseconds);
  const listed = paginateListStacks({ client }, { StackStatusFilter: states }, { abortSignal });
  try {
    const stacks = (await Array.fromAsync(listed)).flatMap(
      ({ StackSummaries = [] }) => StackSummaries,
    );
    const ours = stacks.filter(
      ({ TemplateDescription }) => TemplateDescription === stackDescription,
    );
    if (ours.length === 0) return 'This AWS account and region have no stack of the service.';
    const names = ours.map(({ StackName }) => StackName).toSorted();
    return `Deployed in this AWS account and region: ${names.join(', ')}.`;
  } catch (error) {
    return `AWS could not be asked which are deployed. ${explainAwsFailure(Object(error))}`;
  }
}
