import { ServiceError } from '../../foundation/service-error.ts';
import type { LoginApp } from '../../login-apps/login-app.ts';
import { type LoginUser, readLoginUser } from '../../login-users/login-user.ts';
import { authorityOf, canonicalIssuer } from '../../providers/oidc/issuer.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import { valueAtPath } from '../../providers/settings/fields.ts';
import { issuersIn } from '../../providers/settings/issuers.ts';
import { confirmedOwner, findIndexItem } from './identity-index.ts';

/**
 * The person whom a provider knows by a subject.
 * @param issuer who vouches, where the settings of the provider don't tell
 * @throws ServiceError naming who could vouch, when it has to be said
 */
export async function findLoginUser(
  { login_app_id, providers }: LoginApp,
  { provider, subject, issuer }: { provider: ProviderId; subject: string; issuer: string | undefined },
): Promise<LoginUser | undefined> {
  const settings = providers.get(provider);
  const namespaces = issuer === undefined ? namespacesOf(settings) : namespacesNamed(issuer, settings);
  if (namespaces.length === 0)
    throw new ServiceError('invalid_request', `The Login App has no ${provider}; name its --issuer.`);
  const found = await Promise.all(
    namespaces.map(async (namespace) => {
      const owner = await confirmedOwner(await findIndexItem(login_app_id, { namespace, subject }));
      return owner && readLoginUser(owner.login_user_id);
    }),
  );
  const [user, ...others] = found.filter((one) => one !== undefined);
  if (issuer === undefined && others.length > 0) {
    const known = namespaces.filter((_, place) => found[place]).join(', ');
    throw new ServiceError(
      'invalid_request',
      `Several issuers know this subject: ${known}. Choose one with --issuer.`,
    );
  }
  return user;
}

/** The namespace of an identity that an operator adds. @throws ServiceError naming those to choose from */
export function namespaceOf(
  { providers }: LoginApp,
  { provider, issuer }: { provider: ProviderId; issuer: string | undefined },
): string {
  const settings = providers.get(provider);
  const known = namespacesOf(settings);
  const named = issuer === undefined ? known : namespacesNamed(issuer, settings);
  const [namespace, ...others] = known.filter((name) => named.includes(name));
  if (namespace !== undefined && others.length === 0) return namespace;
  const message = `Choose one of these with --issuer: ${known.join(', ') || 'none, since the Login App has no such provider'}.`;
  throw new ServiceError('invalid_request', message);
}

/** The namespace of an identity that is imported with its issuer or its namespace, which the settings may not know yet. */
export function importedNamespace(
  { providers }: LoginApp,
  { provider, issuer, namespace = '' }: { provider: ProviderId; issuer?: string; namespace?: string },
): { namespace: string; isKnown: boolean } {
  const settings = providers.get(provider);
  const named = issuer === undefined ? [namespace] : namespacesNamed(issuer, settings);
  const found = namespacesOf(settings).find((one) => named.includes(one));
  return { namespace: found ?? named[0] ?? '', isKnown: found !== undefined };
}

function namespacesOf(settings: object | undefined): string[] {
  const namespace = valueAtPath(settings, 'namespace');
  const ofIssuers = issuersIn(settings).idTokens.map(authorityOf);
  return [...new Set(typeof namespace === 'string' ? [namespace, ...ofIssuers] : ofIssuers)];
}

/** The namespaces that an issuer may stand for: the one of its name, and the one that its settings give it. */
function namespacesNamed(issuer: string, settings: object | undefined): string[] {
  const name = canonicalIssuer(issuer);
  const entries = issuersIn(settings).idTokens.filter((entry) => entry.issuer === name);
  return [...new Set([name, ...entries.map(authorityOf)])];
}
