import * as v from 'valibot';

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
 * Does what a custom resource is for, unless it is deleted, and tells CloudFormation how it ended.
 * @param act returns the reason of a failure, which the operator reads beside the resource;
 *   undefined for success
 * @throws Error when CloudFormation does not take the response
 * @see AWS CloudFormation user guide, "Custom resource response reference"
 */
export async function answerCloudFormation(
  event: unknown,
  act: (properties: unknown) => Promise<string | undefined>,
): Promise<void> {
  const { RequestType, ResponseURL, ResourceProperties, ...request } = v.parse(
    requestSchema,
    event,
  );
  const failure = RequestType === 'Delete' ? undefined : await act(ResourceProperties);
  const response = await fetch(ResponseURL, {
    method: 'PUT',
    // The signature of the URL covers an empty content type.
    headers: { 'content-type': '' },
    body: JSON.stringify({
      PhysicalResourceId: request.LogicalResourceId,
      ...request,
      Status: failure === undefined ? 'SUCCESS' : 'FAILED',
      Reason: failure,
    }),
  });
  if (!response.ok)
    throw new Error(`CloudFormation did not take the response: ${response.status}.`);
}
