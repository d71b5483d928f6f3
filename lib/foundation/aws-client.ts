import { optionalEnvironment } from './environment.ts';

/** Milliseconds after which a call that AWS hasn't answered is given up. A stack on one's own machine is slower at times. */
export const patience = Number(optionalEnvironment('AWS_CALL_MILLISECONDS') ?? 1_000);

/**
 * Options of a client whose calls end well before the function's timeout: one that is not answered in some milliseconds is sent
 * again. Without them, a client waits for as long as the function runs.
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
