import { optionalEnvironment } from './environment.ts';

/** Milliseconds that a call to AWS may take. A stack on one's own machine is slower at times. */
export const patience = Number(optionalEnvironment('AWS_CALL_MILLISECONDS') ?? 1_000);

/**
 * Options of a client that repeats a call after some milliseconds. By default, it waits for as long
 * as the function runs.
 */
export const requestTimeouts = (maxAttempts: number, milliseconds = patience) => ({
  maxAttempts,
  requestHandler: {
    connectionTimeout: patience,
    requestTimeout: milliseconds,
    socketTimeout: milliseconds,
    throwOnRequestTimeout: true,
  },
});
