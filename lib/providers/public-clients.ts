import { invalid, ServiceError } from '../foundation/service-error.ts';
import type { CodeExchange } from './codes/settings.ts';
import { type ProviderId, protocolNames, providerIds } from './provider-ids.ts';

/** The client that presents a credential, or that of the person. One with a key is public. */
export interface PublicCaller {
  proofKey?: string | undefined;
  /** The providers that it may use, if an operator has set them. */
  providers?: string[] | undefined;
}

/**
 * The providers that a public client may use. By default those of id tokens, whose signatures the
 * service verifies by itself: elsewhere, each made-up credential of anybody is a call of the
 * provider.
 */
export const providersOf = ({ providers }: Pick<PublicCaller, 'providers'>): string[] =>
  providers ?? providerIds.filter((id) => protocolNames[id] === 'oidc');

/** @throws ServiceError `unauthorized_client` for a public client that may not use the provider */
export function requireAllowedProvider(caller: PublicCaller, provider: ProviderId): void {
  if (caller.proofKey === undefined) return;
  const allowed = providersOf(caller);
  if (allowed.includes(provider)) return;
  throw notAllowed(
    `The public client may not use ${provider}, only ${allowed.join(', ')}. An operator can allow more by clients set-providers.`,
  );
}

/**
 * Requires the nonce of an id token that a public client presents, whose id anybody knows.
 * @throws ServiceError
 */
export function requireNonceOfPublicClient({ proofKey }: PublicCaller, form: LoginForm): void {
  if (proofKey !== undefined && form.id_token !== undefined && form.nonce === undefined)
    throw isRequired('nonce');
}

interface LoginForm {
  id_token?: string | undefined;
  nonce?: string | undefined;
}

/**
 * Requires what binds the code of a public client to its login: otherwise a code that was stolen
 * from a web page logs in here. That is the nonce of the id token that the code brings, or else
 * PKCE at a provider that verifies it.
 * @throws ServiceError
 * @see RFC 9700, section 2.1.1
 */
export function requireBoundCode(
  { id_token, pkce }: Pick<CodeExchange, 'id_token' | 'pkce'>,
  form: { nonce?: string | undefined; code_verifier?: string | undefined },
): void {
  if (id_token) {
    if (form.nonce === undefined) throw isRequired('nonce');
    return;
  }
  if (pkce === undefined)
    throw notAllowed(
      'A public client cannot log in by a code of this provider: its settings do not say that it verifies PKCE.',
    );
  if (form.code_verifier === undefined) throw isRequired('code_verifier');
}

const isRequired = (name: string): ServiceError =>
  invalid(`The parameter ${name} is required for a public client.`);

const notAllowed = (description: string): ServiceError =>
  new ServiceError('unauthorized_client', description, 'provider_not_allowed');
