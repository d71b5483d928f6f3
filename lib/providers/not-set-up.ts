import { ServiceError } from '../foundation/service-error.ts';
import type { ProviderId } from './provider-ids.ts';

/** The error for a login at a provider that is not set up for the Login App, or not for this grant. */
export const notSetUp = (provider: ProviderId): ServiceError =>
  new ServiceError('invalid_request', `The provider ${provider} is not set up for this Login App.`);
