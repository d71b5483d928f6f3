/**
 * The API's id in the event of a direct invocation, for which AWS demands a permission. Elsewhere,
 * API Gateway sets it.
 */
export const directInvocation = 'direct-invocation';
