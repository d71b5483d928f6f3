import { isId } from '../../foundation/ids.ts';
import { invalid, ServiceError } from '../../foundation/service-error.ts';
import { annotateLog } from '../../log/request-fields.ts';
import { jwtAssertionType } from '../../login-apps/client-metadata.ts';
import { type AuthenticatedClient, findPublicClient } from '../../login-apps/clients.ts';
import { verifyProof } from '../../tokens/dpop-proof.ts';
import { verifyClientAssertion } from '../../tokens/verify-client-assertion.ts';
import type { Form } from '../body.ts';
import type { Authentication, RequestHeaders } from '../endpoint.ts';
import { clientSecretBasic } from './client-secret-basic.ts';

type Prove = (headers: RequestHeaders) => Promise<Pick<AuthenticatedClient, 'proofKey'>>;

/** Authentication by HTTP Basic, an assertion or, with `prove`, the id of a public client. @param prove checks a public client */
const clientAuthentication = (prove?: Prove): Authentication<AuthenticatedClient> => ({
  ...clientSecretBasic,
  table: { login_apps: ['GetItem'], issuer_keys: ['GetItem'], used_once: ['GetItem', 'PutItem'] },
  identify: async (headers, readForm) => {
    const form = readForm();
    const sendsBasic = headers.authorization !== undefined;
    if (['client_assertion', 'client_assertion_type'].some((name) => parameter(form, name))) {
      if (sendsBasic) throw invalid('Authenticate by HTTP Basic or by a client assertion, not both.');
      return clientOfAssertion(form);
    }
    const id = prove && !sendsBasic ? parameter(form, 'client_id') : undefined;
    const client = id === undefined ? undefined : await publicClient(id);
    if (client && prove) return { ...client, ...(await prove(headers)) };
    return clientSecretBasic.identify(headers, readForm);
  },
});

/** @see RFC 7521, section 4.2; RFC 7523, section 2.2 */
async function clientOfAssertion(form: Form): Promise<AuthenticatedClient> {
  const sent = parameter(form, 'client_assertion');
  if (sent && parameter(form, 'client_assertion_type') === jwtAssertionType)
    return verifyClientAssertion(sent, parameter(form, 'client_id'));
  const message = `Send a client_assertion with the client_assertion_type ${jwtAssertionType}.`;
  throw new ServiceError('invalid_client', message, 'credentials_missing');
}

/** @see RFC 6749, section 3.2.1 */
async function publicClient(id: string): Promise<AuthenticatedClient | undefined> {
  if (isId('la_….c_…', id)) annotateLog({ client_id: id });
  const client = await findPublicClient(id);
  if (client) annotateLog({ login_app_id: client.loginAppId, client_kind: 'public' });
  return client;
}

export const confidentialClient = clientAuthentication();

/** Authentication of any client at a path, where a public one proves its key. @see RFC 9449, section 5 */
export const clientAt = (path: string): Authentication<AuthenticatedClient> => ({
  ...clientAuthentication(async ({ dpop }) => ({ proofKey: await verifyProof(dpop, path) })),
  alternative: 'dpop_proof',
});

/** Authentication of any client, where a public one proves nothing. */
export const anyClient: Authentication<AuthenticatedClient> = {
  ...clientAuthentication(async () => ({})),
  alternative: 'client_id',
};

/** A parameter that has a value. @throws ServiceError `invalid_request` when it is repeated */
function parameter(form: Form, name: string): string | undefined {
  const [value, ...others] = [form[name] ?? []].flat().filter((one) => one !== '');
  if (others.length > 0) throw invalid(`The parameter ${name} is repeated.`);
  return value;
}
