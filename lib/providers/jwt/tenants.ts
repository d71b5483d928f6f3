import * as v from 'valibot';

/** The place of the tenant in an issuer that stands for many, as Microsoft writes it. */
const placeholder = '{tenantid}';

const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Tenants as settings list them. Tokens have their ids in lower case. */
export const tenantsSchema = v.pipe(
  v.array(
    v.pipe(
      v.string('must be text'),
      v.toLowerCase(),
      v.regex(guid, 'must be the id of a tenant, a GUID'),
    ),
    'must be a list of tenants',
  ),
  v.minLength(1, 'must name at least one tenant'),
);

/** Whether an issuer in settings stands for the issuers of many tenants. */
export const isTemplate = (issuer: string): boolean => issuer.includes(placeholder);

/** Whether an issuer has braces only as a whole segment of its path, and only one. */
export function hasPlainBraces(issuer: string): boolean {
  const host = URL.parse(issuer)?.host ?? '';
  const rest = issuer.replace(`/${placeholder}/`, '/');
  return !/[{}]/.test(host) && !/[{}]/.test(rest);
}

/** An issuer of a tenant, by a template and the `tid` of a token; undefined for no tenant. */
function issuerOfTenant(template: string, tid: unknown): string | undefined {
  if (typeof tid !== 'string' || !guid.test(tid)) return undefined;
  return template.replace(placeholder, tid);
}

interface TenantSettings {
  issuer: string;
  tenants?: string[] | undefined;
}

/** Whether a template stands for the issuer of a token, whose tenant must be one that may log in. */
export function standsFor(
  { issuer: template, tenants }: TenantSettings,
  issuer: string,
  tid: unknown,
): boolean {
  if (!isTemplate(template) || issuerOfTenant(template, tid) !== issuer) return false;
  return tenants === undefined || tenants.some((tenant) => tenant === tid);
}

/** Whether a template stands for an issuer that comes without a token, and so without its `tid`. */
export function standsForIssuer(settings: TenantSettings, issuer: string): boolean {
  const [before = '', after = ''] = settings.issuer.split(placeholder);
  const tid = issuer.slice(before.length, issuer.length - after.length);
  return standsFor(settings, issuer, tid);
}

/**
 * Whether a key may sign for an issuer. Keys that many tenants share say whose tokens they sign.
 * @see
 *   https://learn.microsoft.com/en-us/entra/identity-platform/access-tokens#validate-the-issuer
 */
export function mayKeySignFor(
  issuerOfKey: unknown,
  { issuer, template }: { issuer: string; template?: string | undefined },
): boolean {
  if (template === undefined || issuerOfKey === undefined) return true;
  return issuerOfKey === template || issuerOfKey === issuer;
}
