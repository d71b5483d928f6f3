import { isId } from '../../foundation/ids.ts';
import { invalid, ServiceError } from '../../foundation/service-error.ts';
import { annotateLog } from '../../log/request-fields.ts';
import { jwtAssertionType } from '../../login-apps/client-metadata.ts';
import { type AuthenticatedClient, findPublicClient } from '../../login-apps/clients.ts';
import { verifyProof } from '../../tokens/dpop-proof.ts';
import { verifyClientAssertion } from '../../tokens/verify-client-assertion.ts';
import { type Form, formType, mediaType } from '../body.ts';
import type { Authentication, RequestHeaders } from '../endpoint.ts';
import { clientSecretBasic } from './client-secret-basic.ts';
import { basicCredentials } from './credentials.ts';

/** Checks what a public client sends besides its id. */
type Prove = (
  headers: RequestHeaders,
  form: Form,
) => Promise<Pick<AuthenticatedClient, 'proofKey' | 'proof'>>;

const assertionParameters = ['client_assertion', 'client_assertion_type'];

/** Authentication by HTTP Basic, an assertion or, with `prove`, the id of a public client. */
const clientAuthentication = (prove?: Prove): Authentication<AuthenticatedClient> => ({
  ...clientSecretBasic,
  table: { login_apps: ['GetItem'], issuer_keys: ['GetItem'], used_once: ['GetItem', 'PutItem'] },
  parameters: ['client_id', ...assertionParameters],
  identify: async (headers, readForm) => {
    // 1. Whatever the body should say, it can only be read as a form.
    if (mediaType(headers) !== formType) throw invalid(`The content type must be ${formType}.`);
    const form = readForm();
    const sendsBasic = headers.authorization !== undefined;

    // 2. An assertion.
    if (assertionParameters.some((name) => parameter(form, name))) {
      if (sendsBasic)
        throw invalid('Authenticate by HTTP Basic or by a client assertion, not both.');
      return clientOfAssertion(form);
    }

    // 3. A client id and a client secret.
    if (sendsBasic) {
      if (prove && !basicCredentials(headers.authorization)) throw missing(noSecret);
      return clientSecretBasic.identify(headers, readForm);
    }

    // 4. The id of a public client, which has no secret.
    if (parameter(form, 'client_secret')) throw missing(secretInForm);
    if (!prove) throw missing(onlyForServers);
    const id = parameter(form, 'client_id');
    if (id === undefined) throw missing(noClientId);
    const client = await publicClient(id);
    return { ...client, ...(await prove(headers, form)) };
  },
});

const ofServers =
  'the client id and the client secret with HTTP Basic authentication, or a client assertion';
const onlyForServers = `Send ${ofServers}. A public client can't call this endpoint.`;
const secretInForm = `Send ${ofServers}. A client secret in the form is not accepted.`;
const noClientId = `Send the client_id of a public client in the form or, from a server, ${ofServers}.`;
const noSecret = `A public client sends its client_id in the form, and no Authorization. From a server, send ${ofServers}.`;
const notPublic =
  "There is no public client of this client_id. An operator creates one by clients create --public; a phone can't keep a secret.";

const missing = (description: string): ServiceError =>
  new ServiceError('invalid_client', description, 'credentials_missing');

/** @see RFC 7521, section 4.2; RFC 7523, section 2.2 */
async function clientOfAssertion(form: Form): Promise<AuthenticatedClient> {
  const sent = parameter(form, 'client_assertion');
  if (sent && parameter(form, 'client_assertion_type') === jwtAssertionType)
    return verifyClientAssertion(sent, parameter(form, 'client_id'));
  throw missing(`Send a client_assertion with the client_assertion_type ${jwtAssertionType}.`);
}

/**
 * @throws ServiceError `invalid_client`
 * @see RFC 6749, section 3.2.1
 */
async function publicClient(id: string): Promise<AuthenticatedClient> {
  const isWellFormed = isId('la_….c_…', id);
  // An id of another form could be a secret.
  if (isWellFormed) annotateLog({ client_id: id });
  const client = await findPublicClient(id);
  if (!client) {
    const form = isWellFormed ? '' : ' A client id has the form la_*.c_*.';
    throw new ServiceError('invalid_client', `${notPublic}${form}`, 'id_unknown');
  }
  annotateLog({ login_app_id: client.loginAppId, client_kind: 'public' });
  return client;
}

export const confidentialClient = clientAuthentication();

/**
 * Authentication of any client at a path, where a public one proves its key.
 * @see RFC 9449, section 5
 */
export const clientAt = (path: string): Authentication<AuthenticatedClient> => ({
  ...clientAuthentication(async ({ dpop }, form) => {
    // A credential can't be known long before it is used, but a refresh token can: without a nonce,
    // somebody who had the key for a minute could refresh for ever by proofs that they made then.
    const needsNonce = parameter(form, 'grant_type') === 'refresh_token';
    const proof = await verifyProof(dpop, { method: 'POST', path }, needsNonce);
    return { proofKey: proof.key, proof };
  }),
  alternative: 'dpop_proof',
});

/** Authentication of any client, where a public one proves nothing. */
export const anyClient: Authentication<AuthenticatedClient> = {
  ...clientAuthentication(async () => ({})),
  alternative: 'client_id',
};

/**
 * A parameter that has a value.
 * @throws ServiceError `invalid_request` when it is repeated
 */
function parameter(form: Form, name: string): string | undefined {
  const [value, ...others] = [form[name] ?? []].flat().filter((one) => one !== '');
  if (others.length > 0) throw invalid(`The parameter ${name} is repeated.`);
  return value;
}
