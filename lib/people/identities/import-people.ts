import * as v from 'valibot';
import { timestamp } from '../../foundation/clock.ts';
import { definedOnly } from '../../foundation/defined-only.ts';
import { newId } from '../../foundation/ids.ts';
import { logEvent } from '../../log/log.ts';
import type { LoginApp } from '../../login-apps/login-app.ts';
import {
  firstIdentityId,
  type Identity,
  identityAttributes,
  type UserIdentity,
} from '../../login-users/linked-identity.ts';
import {
  type LoginUser,
  type LoginUserItem,
  loginUserItem,
  placeAmongPeople,
  whileExisting,
} from '../../login-users/login-user.ts';
import { importedProfileSchema, type Profile } from '../../login-users/profile.ts';
import { canonicalIssuer } from '../../providers/jwt/issuer.ts';
import { type ProviderId, providerIds } from '../../providers/provider-ids.ts';
import { type ImportLine, type LineOutcome, readLines } from '../../schema/import-lines.ts';
import { isMissing, isPlaceholder } from '../../schema/placeholders.ts';
import { isPlainText } from '../../schema/plain-text.ts';
import { keyRequired } from '../../schema/validation.ts';
import { forEachInBatches, retryOnConflict } from '../../storage/batches.ts';
import { update, writeTogether } from '../../storage/transactions.ts';
import { changeOfIdentities, roomOf, tooManyLinked } from './change-of-identities.ts';
import { importedNamespace } from './find-login-user.ts';
import {
  claimExternalId,
  findExternalId,
  findIndexItem,
  isOwnItem,
  leadNowhere,
  leadTo,
  ownerOf,
  whileUnchanged,
} from './identity-index.ts';
import { afterUnlinking } from './unlink-identity.ts';

/** A text of a line, with one message for whatever is wrong with it. */
const storableText = (name: string, longest: number) => {
  const message = `${name} must be a string of 1 to ${longest} characters.`;
  const isStorable = (text: string) =>
    isPlainText(text) && text.length > 0 && text.length <= longest;
  return v.pipe(
    v.string(message),
    v.check(isStorable, message),
    v.check((text) => !isPlaceholder(text), `${name} ${isMissing}`),
  );
};
const issuerOrNamespace = 'Either issuer or namespace is required.';

/** A line: an identity, and the person's id in the system that they come from. */
const lineSchema = v.pipe(
  v.object(
    {
      provider: v.picklist(providerIds, `provider must be one of ${providerIds.join(', ')}.`),
      issuer: v.exactOptional(v.pipe(storableText('issuer', 2_000), v.transform(canonicalIssuer))),
      namespace: v.exactOptional(storableText('namespace', 2_000)),
      subject: storableText('subject', 255),
      external_id: storableText('external_id', 200),
      profile: v.fallback(v.optional(importedProfileSchema), undefined),
    },
    keyRequired(),
  ),
  v.check(
    ({ issuer, namespace }) => (issuer === undefined) !== (namespace === undefined),
    issuerOrNamespace,
  ),
);

const personSchema = v.object({
  external_id: v.string(),
  subject: v.string(),
  issuer: v.optional(v.string(), ''),
  namespace: v.optional(v.string(), ''),
});

/** The person and identity of a line; undefined for a line that names neither. */
export function personOfLine(line: object): { group: string; member: string } | undefined {
  const { success, output } = v.safeParse(personSchema, line);
  if (!success) return undefined;
  const { external_id, subject, issuer, namespace } = output;
  return {
    group: external_id,
    member: JSON.stringify([canonicalIssuer(issuer || namespace), subject]),
  };
}

type LineContent = v.InferOutput<typeof lineSchema>;

interface ImportedIdentity extends Identity {
  line: number;
  provider: ProviderId;
  profile: Profile | undefined;
}

interface Options {
  /** Whether to write nothing, and count the lines by issuer. */
  dryRun: boolean;
  /** Whether to unlink a person's other identities in the namespaces of their lines. */
  replace: boolean;
}

/**
 * Imports people with their identities. Lines with the same external id are one person, all in one
 * call; the first is the first identity of somebody new. A person who has logged in keeps
 * everything, and gets the external id. Each person is imported whole or not at all, so the same
 * lines can be sent again, during logins and other imports.
 * @throws Error when it has to stop; what was imported stays
 */
export async function importPeople(loginApp: LoginApp, lines: ImportLine[], options: Options) {
  const { read, result, note } = readLines(lines, lineSchema);
  const found = read.map(({ line, content }) => withNamespace(loginApp, line, content));
  const people = [...Map.groupBy(found, ({ external_id }) => external_id)];
  await forEachInBatches(people, async ([externalId, ofPerson]) => {
    const identities = ofPerson.map(({ identity }) => identity);
    const outcomes = await retryOnConflict(
      () => importPerson(loginApp, externalId, identities, options),
      'The people of the lines keep changing their identities.',
    );
    for (const [{ line }, outcome] of outcomes) note(line, outcome);
  });
  return options.dryRun ? { ...result, issuers: linesByIssuer(found) } : result;
}

/** The identity of a line, with the namespace that the settings of its provider give it. */
function withNamespace(loginApp: LoginApp, line: number, content: LineContent) {
  const { provider, subject, external_id, profile } = content;
  const { namespace, isKnown } = importedNamespace(loginApp, content);
  const usable = profile && definedOnly(profile);
  const identity: ImportedIdentity = { line, provider, namespace, subject, profile: usable };
  return { external_id, identity, issuer: content.issuer ?? namespace, isKnown };
}

/** The number of lines of each issuer, and whether the settings know it. */
function linesByIssuer(found: ReturnType<typeof withNamespace>[]) {
  const groups = Map.groupBy(found, ({ identity, issuer }) => `${identity.provider} ${issuer}`);
  return [...groups.values()].flatMap((ofIssuer) => {
    const [first] = ofIssuer;
    if (!first) return [];
    const { identity, issuer, isKnown } = first;
    return [{ provider: identity.provider, issuer, lines: ofIssuer.length, known: isKnown }];
  });
}

/** A line's identity, the index item where it logs in, and the person who has it. */
type Lookup = Awaited<ReturnType<typeof lookUp>>;

async function lookUp(loginAppId: string, identity: ImportedIdentity) {
  const indexItem = await findIndexItem(loginAppId, identity);
  const owner = await ownerOf(indexItem);
  return { identity, indexItem, user: owner?.user };
}

type Outcomes = Map<ImportedIdentity, LineOutcome>;

/**
 * Imports a person, all in one transaction.
 * @returns the outcome for each identity; undefined when somebody else was faster
 */
async function importPerson(
  { login_app_id }: LoginApp,
  externalId: string,
  identities: ImportedIdentity[],
  { dryRun, replace }: Options,
): Promise<Outcomes | undefined> {
  // 1. Everything leads to one person, or to nobody.
  const [holder, ...lookups] = await Promise.all([
    findExternalId(login_app_id, externalId),
    ...identities.map((identity) => lookUp(login_app_id, identity)),
  ]);
  const people = [holder, ...lookups].flatMap(({ user }) => user ?? []);
  const problem = problemWith(people, externalId, identities);
  if (problem !== undefined) {
    const refusal = { reason: problem };
    return new Map(identities.map((identity) => [identity, refusal]));
  }

  // 2. They get the identities that are nobody's.
  const [user] = people;
  const plan = planOf(lookups, user, externalId);
  if (user && plan.added.some(({ indexItem }) => isOwnItem(indexItem, user))) return undefined;
  if (dryRun) return plan.outcomes;

  // 3. With --replace they lose the others in the same namespaces.
  const imported = identities.filter((one) => typeof plan.outcomes.get(one) === 'string');
  const replaced = replace ? (user?.identities ?? []).filter(isReplacedBy(imported)) : [];

  // 4. The index items and the external id lead to them.
  const login_user_id = user?.login_user_id ?? plan.first.indexItem.id;
  const links = plan.added.map((lookup) => linkOf(lookup, login_user_id));
  const writes = links.map(({ write }) => write);
  writes.push(...leadNowhere(replaced));
  if (user?.external_id === undefined)
    writes.push(claimExternalId(login_app_id, externalId, login_user_id, holder.item));
  if (writes.length === 0) return plan.outcomes;

  // 5. All of it is written with the person, or nothing.
  const person = user
    ? changeOf(user, externalId, links, replaced)
    : creation(plan.first, { login_user_id, login_app_id }, externalId, links);
  const { done } = await writeTogether([...writes, person]);
  if (!done) return undefined;
  for (const { stored } of links) {
    const { identity_id, provider } = stored;
    logEvent('identity_linked', { login_user_id, identity_id, provider });
  }
  await afterUnlinking(login_user_id, replaced);
  return plan.outcomes;
}

/** The reason why no line of a person can be imported; undefined if they can. */
function problemWith(
  people: LoginUser[],
  externalId: string,
  identities: ImportedIdentity[],
): string | undefined {
  const ids = new Set(people.map(({ login_user_id }) => login_user_id));
  if (ids.size > 1) {
    const lines = identities.map(({ line }) => line).join(', ');
    const named = identities.length === 1 ? `line ${lines}` : `lines ${lines}`;
    return `The external_id belongs to several people: see ${named}.`;
  }
  const known = people[0]?.external_id;
  const isSame = known === undefined || known === externalId;
  return isSame ? undefined : 'The person has another external_id.';
}

/** The identities that a person gets, as long as there is room, and the outcome for each line. */
function planOf(lookups: Lookup[], user: LoginUser | undefined, externalId: string) {
  const distinct = lookups.filter(
    (lookup, index) => lookups.findIndex(hasIdentityOf(lookup)) === index,
  );
  const [first, ...others] = distinct;
  if (!first) throw new Error('A person has no line.');

  // The first identity creates somebody new.
  const toLink = user ? distinct : others;
  const free = toLink.filter((lookup) => lookup.user === undefined);
  const added = free.slice(0, roomOf(user ?? { identities: [] }));
  const refused = free.slice(added.length);

  const hasExternalId = user?.external_id === externalId;
  const outcomeOf = (lookup: Lookup): LineOutcome => {
    if (refused.some(hasIdentityOf(lookup))) return { reason: tooManyLinked };
    const isTheirs = hasExternalId && lookup.user !== undefined;
    return isTheirs || !distinct.includes(lookup) ? 'repeated' : 'added';
  };
  const outcomes: Outcomes = new Map();
  for (const lookup of lookups) outcomes.set(lookup.identity, outcomeOf(lookup));
  return { first, added, outcomes };
}

/** Whether another line has the same identity. */
const hasIdentityOf =
  ({ indexItem }: Lookup) =>
  (other: Lookup): boolean =>
    other.indexItem.id === indexItem.id;

/**
 * Whether imported identities replace one: it is none of them, and in the namespace of one.
 */
const isReplacedBy =
  (imported: Identity[]) =>
  ({ namespace, subject }: Identity): boolean => {
    const ofNamespace = imported.filter((identity) => identity.namespace === namespace);
    return ofNamespace.length > 0 && ofNamespace.every((identity) => identity.subject !== subject);
  };

/**
 * A linked identity as it is stored with a person, its profile, and the write of its index item.
 */
function linkOf({ identity, indexItem }: Lookup, login_user_id: string) {
  const { provider, namespace, subject, profile } = identity;
  const identity_id = newId('i');
  const linked_at = timestamp();
  return {
    stored: { identity_id, slot: indexItem.id, provider, namespace, subject, linked_at },
    profile: { [identityAttributes.profile(identity_id)]: profile },
    write: leadTo({ login_user_id, identity_id }, indexItem),
  };
}
type Link = ReturnType<typeof linkOf>;

/**
 * The write that gives an existing person the external id and the identities, and takes replaced
 * ones.
 */
function changeOf(user: LoginUser, external_id: string, links: Link[], removed: UserIdentity[]) {
  const change = changeOfIdentities(user, { added: links.map(({ stored }) => stored), removed });
  for (const { profile } of links) Object.assign(change.set, profile);
  return update(loginUserItem(user.login_user_id), {
    ...change,
    set: { ...change.set, external_id },
    when: { ...change.when, ...whileExisting, external_id: { is: user.external_id } },
  });
}

/** The write that creates a person at the index item of their first identity. */
function creation(
  { identity, indexItem }: Lookup,
  person: Pick<LoginUser, 'login_user_id' | 'login_app_id'>,
  external_id: string,
  links: Link[],
) {
  const { provider, namespace, subject, profile } = identity;
  const now = timestamp();
  const set: Partial<LoginUserItem> = {
    ...person,
    ...placeAmongPeople(person, now),
    external_id,
    provider,
    namespace,
    subject,
    created_at: now,
    imported_at: now,
    last_login_at: now,
    linked_identities: links.length,
    [identityAttributes.profile(firstIdentityId(person.login_user_id))]: profile,
  };
  for (const link of links) {
    const linked = { [identityAttributes.linked(link.stored.identity_id)]: link.stored };
    Object.assign(set, linked, link.profile);
  }
  return update(loginUserItem(person.login_user_id), {
    set,
    // Of a person who no longer has the identity.
    remove: ['linked_to', 'identity_id'],
    when: whileUnchanged(indexItem),
  });
}
