import { Logger } from '@aws-lambda-powertools/logger';

/** Structured lines on standard output. Nothing that is secret, and nothing a caller sent, goes in. */
export const log = new Logger({ serviceName: 'login-service' });

/**
 * What may be logged of an unexpected error: its name, its code and where it was thrown. The messages of
 * the language's own errors quote the value they failed on, so only the service's own and the SDK's go in.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error };
  const { name, stack, cause } = error;
  const isBuiltIn = ['SyntaxError', 'TypeError', 'RangeError', 'URIError', 'ReferenceError'].includes(name);
  return {
    name,
    ...('code' in error && { code: error.code }),
    ...(isBuiltIn ? {} : { message: error.message }),
    at: stack
      ?.split('\n')
      .filter((line) => line.startsWith('    at '))
      .slice(0, 8)
      .map((line) => line.trim()),
    ...(cause instanceof Error && { cause: describeError(cause) }),
  };
}
