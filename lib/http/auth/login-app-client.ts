import { ServiceError } from '../../foundation/service-error.ts';
import { jwtAssertionType } from '../../login-apps/client-authentication.ts';
import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import { verifyClientAssertion } from '../../tokens/verify-client-assertion.ts';
import { clientSecretBasic } from './client-secret-basic.ts';
import type { Authentication, RequestHeaders } from './credentials.ts';

/** A method by which a client authenticates: whether a request uses it, and whom that makes of it. */
interface Method {
  isUsed: (headers: RequestHeaders, form: URLSearchParams) => boolean;
  identify: (headers: RequestHeaders, form: URLSearchParams) => Promise<AuthenticatedClient>;
}

const basic: Method = {
  isUsed: ({ authorization }) => authorization !== undefined,
  identify: (headers, form) => clientSecretBasic.identify(headers, () => form),
};

/** An assertion in the form. @see RFC 7521, section 4.2; RFC 7523, section 2.2 */
const assertion: Method = {
  isUsed: (_, form) => ['client_assertion', 'client_assertion_type'].some((name) => parameter(form, name)),
  identify: async (_, form) => {
    const sent = parameter(form, 'client_assertion');
    if (sent && parameter(form, 'client_assertion_type') === jwtAssertionType)
      return verifyClientAssertion(sent, parameter(form, 'client_id'));
    const message = `Send a client_assertion with the client_assertion_type ${jwtAssertionType}.`;
    throw new ServiceError('invalid_client', message, { reason: 'credentials_missing' });
  },
};

const methods = [assertion, basic];

/** Login App Client authentication, by one of the methods that the server metadata name. */
export const loginAppClient: Authentication<AuthenticatedClient> = {
  ...clientSecretBasic,
  identify: async (headers, readForm) => {
    const form = readForm();
    const [used = basic, another] = methods.filter((method) => method.isUsed(headers, form));
    if (another)
      throw new ServiceError(
        'invalid_request',
        'Authenticate by HTTP Basic or by a client assertion, not both.',
      );
    return used.identify(headers, form);
  },
};

/** A parameter that has a value. @throws ServiceError `invalid_request` when it is repeated */
function parameter(form: URLSearchParams, name: string): string | undefined {
  const [value, ...others] = form.getAll(name).filter((one) => one !== '');
  if (others.length > 0) throw new ServiceError('invalid_request', `The parameter ${name} is repeated.`);
  return value;
}
