import * as v from 'valibot';

/**
 * The event with which CloudFormation invokes the function of a custom resource.
 * @see AWS CloudFormation user guide, "Custom resource request reference"
 */
export const customResourceRequestSchema = v.object({
  RequestType: v.picklist(['Create', 'Update', 'Delete']),
  /** Presigned: where the response goes. */
  ResponseURL: v.string(),
  StackId: v.string(),
  RequestId: v.string(),
  LogicalResourceId: v.string(),
  PhysicalResourceId: v.optional(v.string()),
  ResourceProperties: v.unknown(),
});
type CustomResourceRequest = v.InferOutput<typeof customResourceRequestSchema>;

/**
 * Tells CloudFormation how a request ended, which waits for that.
 * @param failure what the operator reads beside the resource; undefined for success
 * @throws Error when the response is not taken
 * @see AWS CloudFormation user guide, "Custom resource response reference"
 */
export async function respond(
  { ResponseURL, PhysicalResourceId, ...request }: CustomResourceRequest,
  failure: string | undefined,
): Promise<void> {
  const { StackId, RequestId, LogicalResourceId } = request;
  const response = await fetch(ResponseURL, {
    method: 'PUT',
    // The signature of the URL covers an empty content type.
    headers: { 'content-type': '' },
    body: JSON.stringify({
      Status: failure === undefined ? 'SUCCESS' : 'FAILED',
      Reason: failure,
      PhysicalResourceId: PhysicalResourceId ?? LogicalResourceId,
      StackId,
      RequestId,
      LogicalResourceId,
    }),
  });
  if (!response.ok) throw new Error(`CloudFormation did not take the response: ${response.status}.`);
}
