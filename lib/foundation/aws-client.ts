import { optionalEnvironment } from './environment.ts';

/** Milliseconds after which a call that AWS hasn't answered is given up. A stack on one's own machine is slower at times. */
export const patience = Number(optionalEnvironment('AWS_CALL_MILLISECONDS') ?? 1_000);

/**
 * Options of a client whose calls end well before the function's timeout: one that is not answered is sent again. Without
 * them, a client waits for as long as the function runs.
 * @param maxAttempts how often a call is sent before it fails
 * @param milliseconds how long each waits for its answer
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
