import { isId } from '../../foundation/ids.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { annotateLog } from '../../log/request-fields.ts';
import { jwtAssertionType } from '../../login-apps/client-metadata.ts';
import { type AuthenticatedClient, findPublicClient } from '../../login-apps/clients.ts';
import { verifyProof } from '../../tokens/dpop-proof.ts';
import { verifyClientAssertion } from '../../tokens/verify-client-assertion.ts';
import type { Authentication, RequestHeaders } from '../endpoint.ts';
import { clientSecretBasic } from './client-secret-basic.ts';

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

/** The id of a public client alone, which anybody can know. @see RFC 6749, section 3.2.1 */
const publicClientId: Method = {
  isUsed: (headers, form) =>
    ![assertion, basic].some((method) => method.isUsed(headers, form)) &&
    parameter(form, 'client_id') !== undefined,
  identify: async (_, form) => {
    const id = parameter(form, 'client_id') ?? '';
    if (isId('la_….c_…', id)) annotateLog({ client_id: id });
    const client = await findPublicClient(id);
    if (!client) return basic.identify({}, form);
    annotateLog({ client_id: id, login_app_id: client.loginAppId, client_kind: 'public' });
    return client;
  },
};

/** A public client that proves its key. @param path of the endpoint @see RFC 9449, section 5 */
const provenPublicClient = (path: string): Method => ({
  ...publicClientId,
  identify: async (headers, form) => {
    const client = await publicClientId.identify(headers, form);
    return { ...client, proofKey: await verifyProof(headers.dpop, path) };
  },
});

const byOneOf = (methods: Method[]): Authentication<AuthenticatedClient> => ({
  ...clientSecretBasic,
  table: { login_apps: ['GetItem'], issuer_keys: ['GetItem'], used_once: ['GetItem', 'PutItem'] },
  identify: async (headers, readForm) => {
    const form = readForm();
    const [used = basic, another] = methods.filter((method) => method.isUsed(headers, form));
    const message = 'Authenticate by HTTP Basic or by a client assertion, not both.';
    if (another) throw new ServiceError('invalid_request', message);
    return used.identify(headers, form);
  },
});

export const confidentialClient = byOneOf([assertion, basic]);

/** Authentication of any client at the endpoint with a path: a public one proves its key. */
export const clientAt = (path: string): Authentication<AuthenticatedClient> => ({
  ...byOneOf([assertion, basic, provenPublicClient(path)]),
  alternative: 'dpop_proof',
});

/** Authentication of any client where a public one needs to prove nothing. */
export const anyClient: Authentication<AuthenticatedClient> = {
  ...byOneOf([assertion, basic, publicClientId]),
  alternative: 'client_id',
};

/** A parameter that has a value. @throws ServiceError `invalid_request` when it is repeated */
function parameter(form: URLSearchParams, name: string): string | undefined {
  const [value, ...others] = form.getAll(name).filter((one) => one !== '');
  if (others.length > 0) throw new ServiceError('invalid_request', `The parameter ${name} is repeated.`);
  return value;
}
