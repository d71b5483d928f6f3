import { invalid } from '../../foundation/service-error.ts';
import type { LoginApp } from '../../login-apps/login-app.ts';
import type { LoginUser } from '../../login-users/login-user.ts';
import { authorityOf, canonicalIssuer } from '../../providers/jwt/issuer.ts';
import { isTemplate, standsForIssuer } from '../../providers/jwt/tenants.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import { settingsOf } from '../../providers/stored/settings-of.ts';
import { findIndexItem, ownerOf } from './identity-index.ts';

/** A provider, with one of its issuers if that is known. */
interface Authority {
  provider: ProviderId;
  issuer?: string | undefined;
}

/**
 * The person whom a provider knows by a subject.
 * @throws ServiceError if the provider was removed, several issuers know the subject, or the issuer
 *   of a tenant is to be named
 */
export async function findLoginUser(
  loginApp: LoginApp,
  { subject, ...authority }: Authority & { subject: string },
): Promise<LoginUser | undefined> {
  const { provider, issuer } = authority;
  const { possible, templates } = namespacesOf(loginApp, authority);
  if (possible.length === 0 && templates.length === 0)
    throw invalid(`The Login App has no ${provider}; name its --issuer.`);

  const searches = possible.map(async (namespace) => {
    const indexItem = await findIndexItem(loginApp.login_app_id, { namespace, subject });
    const owner = await ownerOf(indexItem);
    return { namespace, user: owner?.user };
  });
  const results = await Promise.all(searches);
  const found = results.filter(({ user }) => user !== undefined);

  if (issuer === undefined && found.length > 1) {
    const namespaces = found.map(({ namespace }) => namespace).join(', ');
    throw invalid(`Several issuers know this subject: ${namespaces}. Choose one with --issuer.`);
  }
  if (issuer === undefined && found.length === 0 && templates.length > 0) {
    const issuers = templates.join(', ');
    throw invalid(`Each tenant has an issuer of its own, ${issuers}: name it with --issuer.`);
  }
  return found[0]?.user;
}

/**
 * The namespace of an identity that an operator adds.
 * @throws ServiceError naming those to choose from
 */
export function namespaceOf(loginApp: LoginApp, authority: Authority): string {
  const { known, possible, templates } = namespacesOf(loginApp, authority);
  const [namespace, ...others] = known.filter((name) => possible.includes(name));
  if (namespace !== undefined && others.length === 0) return namespace;
  const names =
    [...known, ...templates].join(', ') || 'none, since the Login App has no such provider';
  throw invalid(`Choose one of these with --issuer: ${names}.`);
}

/** The namespace of an imported identity, and whether the settings of its provider know it. */
interface ImportedNamespace {
  namespace: string;
  isKnown: boolean;
}

/** The namespace of an identity that is imported with either an issuer or a namespace. */
export function importedNamespace(
  loginApp: LoginApp,
  { provider, issuer, namespace = '' }: Authority & { namespace?: string },
): ImportedNamespace {
  const { known, possible } = namespacesOf(loginApp, { provider, issuer: issuer ?? namespace });
  const wanted = issuer === undefined ? [namespace] : possible;
  const found = known.find((one) => wanted.includes(one));
  if (found !== undefined) return { namespace: found, isKnown: true };
  const [first = ''] = wanted;
  return { namespace: first, isKnown: false };
}

/** The namespaces that a provider's settings know, and those in which an authority's people are. */
interface Namespaces {
  known: string[];
  possible: string[];
  /** Issuers that stand for one of each tenant. Nobody is in a namespace of such a name. */
  templates: string[];
}

/**
 * People of an issuer are in the namespaces that the settings give it, or in one of the issuer's
 * own name. Without an issuer, they may be in any that the settings know.
 */
function namespacesOf({ providers }: LoginApp, { provider, issuer }: Authority): Namespaces {
  const settings = providers.get(provider) ?? {};
  const namespace = settingsOf(provider).namespace(settings);
  const { idTokens } = settingsOf(provider).issuers(settings);
  const issuers = idTokens.filter((one) => !isTemplate(one.issuer));
  const ofTenants = idTokens.filter((one) => isTemplate(one.issuer));
  const templates = ofTenants.map((one) => one.issuer);
  const ofProvider = namespace === undefined ? [] : [namespace];
  const known = distinct([...ofProvider, ...issuers.map(authorityOf)]);
  if (issuer === undefined) return { known, possible: known, templates };

  const name = canonicalIssuer(issuer);
  const ofIssuer = issuers.filter((one) => one.issuer === name).map(authorityOf);
  const possible = distinct([name, ...ofIssuer]);
  const isOfTenant = ofTenants.some((one) => standsForIssuer(one, name));
  return { known: isOfTenant ? distinct([...known, name]) : known, possible, templates };
}

const distinct = (namespaces: string[]): string[] => [...new Set(namespaces)];
