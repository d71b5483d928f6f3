import * as v from 'valibot';
import { epochSeconds } from '../../foundation/clock.ts';
import { type ErrorRecord, invalid, ServiceError } from '../../foundation/service-error.ts';
import type { VerifiedIdentity } from '../../login-users/linked-identity.ts';
import {
  type AuthenticatedUser,
  type LoginUser,
  loginUserItem,
  whileActive,
} from '../../login-users/login-user.ts';
import { codeParameters } from '../../providers/parameters.ts';
import { providerIds } from '../../providers/provider-ids.ts';
import {
  type CodeForm,
  type CredentialForm,
  protocolOf,
  verifyCode,
  verifyCredential,
} from '../../providers/providers.ts';
import type { ReceivedToken } from '../../providers/received-token.ts';
import { choiceProblem, forbidden, parameters } from '../../schema/form-parameters.ts';
import { jsonSchema } from '../../schema/json-schema.ts';
import { updateItem } from '../../storage/items.ts';

const withCode = 'with an authorization_code';

// The parameters of id tokens, which follow, include a code.
const noCode = { authorization_code: forbidden('authorization_code', 'with provider credentials') };
/** @param more further parameters, for another kind of request with its own `title` */
const credentialFormsWith = <const More extends v.ObjectEntries>(more: More, title: string) =>
  providerIds.map((provider) => {
    const titleOfForm = `Provider${provider.slice(-1).toUpperCase()}${title}`;
    return v.pipe(protocolOf(provider).form(provider, noCode, more), v.title(titleOfForm));
  });
const credentialForms = credentialFormsWith({}, 'Identity');
const credentialFormSchema = v.variant(
  'provider',
  credentialForms,
  choiceProblem({ provider: providerIds }),
);
const codeEntries = {
  ...codeParameters,
  access_token: forbidden('access_token', withCode),
  access_secret: forbidden('access_secret', withCode),
  id_token: forbidden('id_token', withCode),
};
const codeFormSchema = v.pipe(parameters(codeEntries), v.title('AuthorizationCodeIdentity'));

/** A parsed form, with the kind of what it presents. */
export type IdentityForm = ({ by: 'credential' } & CredentialForm) | ({ by: 'code' } & CodeForm);

const readCode = v.pipe(
  codeFormSchema,
  v.transform((form): IdentityForm => ({ ...form, by: 'code' })),
);
const readCredential = v.pipe(
  credentialFormSchema,
  v.transform((form): IdentityForm => ({ ...form, by: 'credential' })),
);

/** Whether a form has a code alone. An id token of a provider of id tokens may come with a code. */
function isCodeAlone(form: object): boolean {
  if (!('authorization_code' in form)) return false;
  const isOfIdTokens = 'provider' in form && form.provider === 'provider_f';
  return !(isOfIdTokens && 'id_token' in form);
}

/**
 * The form with the credential of an identity to link: the parameters of a grant, without
 * `grant_type`.
 */
export const identityFormSchema = v.pipe(
  v.looseObject({}, 'The body is not a form.'),
  v.check((form) => !('grant_type' in form), 'The parameter grant_type must not be supplied here.'),
  v.lazy((form) => (isCodeAlone(Object(form)) ? readCode : readCredential)),
  jsonSchema(
    v.pipe(v.variant('provider', [...credentialForms, codeFormSchema]), v.title('IdentityRequest')),
  ),
);

const accounts = ['mine', 'theirs'] as const;
const keepField = v.pipe(
  v.picklist(accounts, ({ input }) =>
    Array.isArray(input)
      ? 'The parameter keep is repeated.'
      : 'The parameter keep must be mine or theirs.',
  ),
  v.description(
    'The account that is kept: `mine` is that of the access token, `theirs` that of the credential.',
  ),
);

/** The form with the credential of another account, and the account that is kept. */
export const mergeFormSchema = v.pipe(
  v.intersect([
    v.pipe(v.looseObject({}, 'The body is not a form.'), parameters({ keep: keepField })),
    identityFormSchema,
  ]),
  jsonSchema(
    v.pipe(
      v.variant('provider', [
        ...credentialFormsWith({ keep: keepField }, 'Merge'),
        v.pipe(parameters({ ...codeEntries, keep: keepField }), v.title('AuthorizationCodeMerge')),
      ]),
      v.title('MergeRequest'),
    ),
  ),
);
export type MergeForm = v.InferOutput<typeof mergeFormSchema>;

const mostRejected = 10;
/** Seconds from the first rejected credential until the count begins anew. */
const windowSeconds = 600;

const tooManyRejectedMessage = 'Too many credentials were rejected. Try again later.';
export const tooManyRejected: ErrorRecord = {
  when: `${mostRejected} credentials of the person were rejected within ${windowSeconds / 60} minutes. The provider is not asked. \`Retry-After\` says how long.`,
  example: tooManyRejectedMessage,
};

/** The client of a person's session. */
type PersonsClient = Pick<AuthenticatedUser, 'client_id' | 'proof_key' | 'client_providers'>;

/**
 * The identity of a credential.
 * @param received gets the provider's refresh token, if a code brings one
 * @throws ServiceError, `too_many_requests` after too many rejected ones; ProviderFailure
 */
export async function verifyNewIdentity(
  user: LoginUser,
  { client_id, proof_key, client_providers }: PersonsClient,
  form: IdentityForm,
  received: ReceivedToken,
): Promise<VerifiedIdentity> {
  const { rejected_credentials = 0, rejected_since = 0 } = user;
  const secondsLeft = rejected_since + windowSeconds - epochSeconds();
  if (rejected_credentials >= mostRejected && secondsLeft > 0)
    throw new ServiceError('too_many_requests', tooManyRejectedMessage, {
      retryAfterSeconds: secondsLeft,
    });
  const { login_app_id: loginAppId, login_user_id: linksTo } = user;
  const client = { clientId: client_id, proofKey: proof_key, providers: client_providers };
  const caller = { loginAppId, ...client, linksTo };
  try {
    if (form.by === 'code') return await verifyCode(caller, form, received);
    const identity = await verifyCredential(caller, form, received);
    requireExchange(form, identity);
    return identity;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'invalid_grant') await countRejection(user);
    throw error;
  }
}

/**
 * A code beside an id token is not ignored where the settings of its issuer don't exchange it.
 * @throws ServiceError `invalid_request`
 */
function requireExchange(form: CredentialForm, { code }: VerifiedIdentity): void {
  const hasCode = 'authorization_code' in form && form.authorization_code !== undefined;
  if (hasCode && code === undefined)
    throw invalid(`The parameter id_token must not be supplied ${withCode}.`);
}

/**
 * Counts a rejection in the person's window, or begins a new one. Of several at once, one begins
 * it.
 */
async function countRejection({ login_user_id, rejected_since = 0 }: LoginUser): Promise<void> {
  const now = epochSeconds();
  const key = loginUserItem(login_user_id);
  if (rejected_since + windowSeconds <= now) {
    const begun = await updateItem(key, {
      set: { rejected_since: now, rejected_credentials: 1 },
      when: { ...whileActive, rejected_since: { isNotFrom: now - windowSeconds + 1 } },
    });
    if (begun.done) return;
  }
  await updateItem(key, { count: { rejected_credentials: { by: 1 } }, when: whileActive });
}
