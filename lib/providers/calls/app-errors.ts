import { valueAtPath } from '../settings/fields.ts';
import type { ProviderAnswer } from './call-provider.ts';
import { ProviderFailure } from './provider-failure.ts';

/** Settings of the error codes that are not about a credential. */
interface AppErrors {
  /** @default 'error' */
  error_field?: string | undefined;
  /** Codes for faults of our app, such as a setting at the provider. */
  app_errors?: string[] | undefined;
  /** Codes for too many requests of our app. */
  throttled_errors?: string[] | undefined;
}

/**
 * Tells an error that is about our app from one that is about the credential. The person can do
 * nothing about it, and an operator must know.
 * @throws ProviderFailure
 */
export function failForOurApp(
  { error_field = 'error', app_errors = [], throttled_errors = [] }: AppErrors,
  { status, body }: Pick<ProviderAnswer, 'status' | 'body'>,
  url: string,
): void {
  const code = String(valueAtPath(body, error_field));
  if (throttled_errors.includes(code)) throw new ProviderFailure('throttled', url, code);
  if (app_errors.includes(code))
    throw new ProviderFailure('refused_our_app', url, `${status}, ${code}`);
}
