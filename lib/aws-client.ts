import { optionalEnvironment } from './environment.ts';

/** Milliseconds after which a call that AWS hasn't answered is given up. A stack on one's own machine is slower at times. */
const patience = Number(optionalEnvironment('AWS_CALL_MILLISECONDS') ?? 1_000);

/**
 * Options of a client whose calls are part of a request: one that is not answered is sent again, so that the request still
 * succeeds well within the function's 10 s. Without them, a client waits for as long as the function runs.
 * @param maxAttempts how often a call is sent before it fails
 */
export const impatient = (maxAttempts: number) => ({
  maxAttempts,
  requestHandler: {
    connectionTimeout: patience,
    requestTimeout: patience,
    socketTimeout: patience,
    throwOnRequestTimeout: true,
  },
});
