import { invalid } from '../../foundation/service-error.ts';
import type { LoginApp } from '../../login-apps/login-app.ts';
import type { LoginUser } from '../../login-users/login-user.ts';
import { authorityOf, canonicalIssuer } from '../../providers/jwt/issuer.ts';
import { readLoginSettings } from '../../providers/jwt/issuers-in-settings.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import { findIndexItem, ownerOf } from './identity-index.ts';

interface Authority {
  provider: ProviderId;
  issuer?: string | undefined;
}

/**
 * The person whom a provider knows.
 * @throws ServiceError if the provider was removed or several issuers know the subject
 */
export async function findLoginUser(
  { login_app_id, providers }: LoginApp,
  { subject, provider, issuer }: Authority & { subject: string },
): Promise<LoginUser | undefined> {
  const { named } = namespacesOf(providers.get(provider), issuer);
  if (named.length === 0) throw invalid(`The Login App has no ${provider}; name its --issuer.`);
  const found = await Promise.all(
    named.map(async (namespace) => {
      const owner = await ownerOf(await findIndexItem(login_app_id, { namespace, subject }));
      return owner?.user;
    }),
  );
  const [user, ...others] = found.filter((one) => one !== undefined);
  if (issuer === undefined && others.length > 0) {
    const known = named.filter((_, place) => found[place]).join(', ');
    throw invalid(`Several issuers know this subject: ${known}. Choose one with --issuer.`);
  }
  return user;
}

/**
 * The namespace of an identity that an operator adds.
 * @throws ServiceError naming those to choose from
 */
export function namespaceOf({ providers }: LoginApp, { provider, issuer }: Authority): string {
  const { known, named } = namespacesOf(providers.get(provider), issuer);
  const [namespace, ...others] = known.filter((name) => named.includes(name));
  if (namespace !== undefined && others.length === 0) return namespace;
  const names = known.join(', ') || 'none, since the Login App has no such provider';
  throw invalid(`Choose one of these with --issuer: ${names}.`);
}

/**
 * The namespace of an identity that is imported with an issuer or a namespace, and whether the
 * settings know it.
 */
export function importedNamespace(
  { providers }: LoginApp,
  { provider, issuer, namespace = '' }: Authority & { namespace?: string },
): { namespace: string; isKnown: boolean } {
  const { known, named } = namespacesOf(providers.get(provider), issuer);
  const possible = issuer === undefined ? [namespace] : named;
  const found = known.find((one) => possible.includes(one));
  return { namespace: found ?? possible[0] ?? '', isKnown: found !== undefined };
}

/**
 * The namespaces that settings know, and those of an issuer: its name, and its namespaces in the
 * settings.
 */
function namespacesOf(settings: object | undefined, issuer: string | undefined) {
  const { idTokens, namespace: own } = readLoginSettings(settings);
  const known = [...new Set([...(own === undefined ? [] : [own]), ...idTokens.map(authorityOf)])];
  if (issuer === undefined) return { known, named: known };
  const name = canonicalIssuer(issuer);
  const ofIssuer = idTokens.filter((entry) => entry.issuer === name).map(authorityOf);
  return { known, named: [...new Set([name, ...ofIssuer])] };
}
