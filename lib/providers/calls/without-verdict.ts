import { ServiceError } from '../../foundation/service-error.ts';
import { logFailure } from '../../log/log.ts';
import { ProviderFailure } from './provider-failure.ts';

/** Seconds after which a login may be tried again at a provider that takes no more requests. */
const throttledFor = 60;

const noVerdict = 'The identity provider did not say whether it accepts this credential.';
export const throttled = 'The identity provider takes no more requests now. Try again later.';

/**
 * The error for a caller whose credential a provider answered with a 4xx that is no verdict, or
 * with 429; other errors as they are. Anybody with made-up credentials can cause it, so it is no
 * 5xx, which would set alarms off and take new versions back. It is one if the provider rejects our
 * own credentials.
 */
export function withoutVerdict(error: unknown): unknown {
  if (!(error instanceof ProviderFailure)) return error;
  const { code, status = 0 } = error;
  const isThrottled = code === 'throttled';
  const isRefusal = status >= 400 && status < 500;
  if (!isThrottled && !isRefusal) return error;
  logFailure('provider_gave_no_verdict', error, {});
  return isThrottled
    ? new ServiceError('too_many_requests', throttled, {
        reason: 'provider_throttled',
        retryAfterSeconds: throttledFor,
      })
    : new ServiceError('invalid_grant', noVerdict, 'provider_gave_no_verdict');
}
