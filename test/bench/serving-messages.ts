import * as v from 'valibot';

/** The cryptographic operations of requests that take time. */
const operations = ['RS256 verify', 'ES256 verify', 'RS256 sign', 'HMAC'] as const;
export type Operation = (typeof operations)[number];

/** What the serving process says when it is ready. */
export const addresses = v.object({ url: v.string(), emptyUrl: v.string() });

/**
 * Records the next requests, or repeats their calls, their store calls (by the SDK's defaults), or
 * some operations.
 */
export const question = v.object({
  ask: v.picklist(['cpu', 'record', 'calls', 'store', 'defaults', 'cryptography']),
  times: v.optional(v.number(), 0),
  operations: v.optional(v.array(v.picklist(operations)), []),
});
export type TestRequest = v.InferInput<typeof question>;

/** Its answer: CPU milliseconds since the last one, and the store requests that were recorded. */
export const answer = v.object({ milliseconds: v.number(), storeRequests: v.number() });
