import * as v from 'valibot';

/**
 * The event with which CloudFormation invokes the function of a custom resource.
 * @see AWS CloudFormation user guide, "Custom resource request reference"
 */
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
 * Does what a custom resource is for, unless it is deleted, and tells CloudFormation, which waits for that, how it ended.
 * @param act gets the properties; returns what the operator reads beside the resource, undefined for success
 * @throws Error when the response is not taken
 * @see AWS CloudFormation user guide, "Custom resource response reference"
 */
export async function answerCloudFormation(
  event: unknown,
  act: (properties: unknown) => Promise<string | undefined>,
): Promise<void> {
  const { RequestType, ResponseURL, ResourceProperties, ...request } = v.parse(requestSchema, event);
  const failure = RequestType === 'Delete' ? undefined : await act(ResourceProperties);
  const { StackId, RequestId, LogicalResourceId, PhysicalResourceId = LogicalResourceId } = request;
  const response = await fetch(ResponseURL, {
    method: 'PUT',
    // The signature of the URL covers an empty content type.
    headers: { 'content-type': '' },
    body: JSON.stringify({
      Status: failure === undefined ? 'SUCCESS' : 'FAILED',
      Reason: failure,
      PhysicalResourceId,
      StackId,
      RequestId,
      LogicalResourceId,
    }),
  });
  if (!response.ok) throw new Error(`CloudFormation did not take the response: ${response.status}.`);
}
