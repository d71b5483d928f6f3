import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import * as v from 'valibot';
import { requestTimeouts } from '../foundation/aws-client.ts';

/** CloudFormation, for a custom resource. */
export const cloudFormation = new CloudFormationClient(requestTimeouts(3, 5_000));

/** @see AWS CloudFormation user guide, "Custom resource request reference" */
const requestSchema = v.object({
  RequestType: v.picklist(['Create', 'Update', 'Delete']),
  /** Presigned: where the response goes. */
  ResponseURL: v.string(),
  StackId: v.string(),
  RequestId: v.string(),
  LogicalResourceId: v.string(),
  PhysicalResourceId: v.optional(v.string()),
  ResourceProperties: v.unknown(),
});

/**
 * Creates or updates a custom resource, and tells CloudFormation how that ended. Its deletion does
 * nothing.
 * @param act does the work with the properties and the ARN of the stack, and returns the reason of
 *   a failure, which CloudFormation shows to the operator with the resource; undefined for success
 * @throws Error when CloudFormation does not take the response
 * @see AWS CloudFormation user guide, "Custom resource response reference"
 */
export async function answerCloudFormation(
  event: unknown,
  act: (properties: unknown, stackId: string) => Promise<string | undefined>,
): Promise<void> {
  const request = v.parse(requestSchema, event);
  const { RequestType, StackId, ResourceProperties } = request;
  const isDeleted = RequestType === 'Delete';
  const failure = isDeleted ? undefined : await act(ResourceProperties, StackId);
  const result = {
    StackId,
    RequestId: request.RequestId,
    LogicalResourceId: request.LogicalResourceId,
    PhysicalResourceId: request.PhysicalResourceId ?? request.LogicalResourceId,
    Status: failure === undefined ? 'SUCCESS' : 'FAILED',
    Reason: failure,
  };
  const response = await fetch(request.ResponseURL, {
    method: 'PUT',
    // The signature of the URL covers an empty content type.
    headers: { 'content-type': '' },
    body: JSON.stringify(result),
  });
  if (!response.ok)
    throw new Error(`CloudFormation did not take the response: ${response.status}.`);
}

/**
 * Whether a stack is on its way to a new version: it is not created, and not rolled back, which a
 * custom resource must never keep from its end.
 */
export async function isUpdating(StackName: string): Promise<boolean> {
  const { Stacks: [stack] = [] } = await cloudFormation.send(
    new DescribeStacksCommand({ StackName }),
  );
  return stack?.StackStatus === 'UPDATE_IN_PROGRESS';
}
