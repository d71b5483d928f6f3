import { optionalEnvironment } from './environment.ts';

/** Milliseconds that a call to AWS may take. A stack on one's own machine is slower at times. */
export const callMilliseconds = Number(optionalEnvironment('AWS_CALL_MILLISECONDS') ?? 1_000);

/**
 * Options of a client that gives up a call after some milliseconds, and repeats it. Without them,
 * the SDK would wait for as long as the function runs.
 * @param maxAttempts how often a call is made at most
 */
export const requestTimeouts = (maxAttempts: number, milliseconds = callMilliseconds) => ({
  maxAttempts,
  requestHandler: {
    connectionTimeout: callMilliseconds,
    requestTimeout: milliseconds,
    socketTimeout: milliseconds,
    throwOnRequestTimeout: true,
  },
});
