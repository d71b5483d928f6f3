import * as v from 'valibot';
import { timestamp } from '../../foundation/clock.ts';
import type { LoginApp } from '../../login-apps/login-app.ts';
import { firstIdentityId, type Identity, identityAttributes } from '../../login-users/linked-identity.ts';
import {
  type LoginUser,
  loginUserItem,
  placeAmongPeople,
  readLoginUser,
  whileExisting,
} from '../../login-users/login-user.ts';
import { isPlain, type Profile, profileFields, profileSchema } from '../../login-users/profile.ts';
import { canonicalIssuer } from '../../providers/oidc/issuer.ts';
import { type ProviderId, providerIds } from '../../providers/provider-ids.ts';
import { type ImportLine, type LineOutcome, readLines, refusal } from '../../schema/import-lines.ts';
import { keyRequired } from '../../schema/validation.ts';
import { forEachInBatches, retryOnConflict } from '../../storage/batches.ts';
import { updateItem } from '../../storage/items.ts';
import { importedNamespace } from './find-login-user.ts';
import { ownIdentities } from './identities-of-person.ts';
import {
  claimExternalId,
  confirmedOwner,
  findExternalId,
  findIndexItem,
  releaseIdentity,
  whileFree,
} from './identity-index.ts';
import { linkIdentity, unlinkIdentity } from './link-identity.ts';

const textField = (name: string, longest: number) => {
  const message = `${name} must be a string of 1 to ${longest} characters.`;
  const isStorable = (text: string) => isPlain(text) && text.length > 0 && text.length <= longest;
  return v.pipe(v.string(message), v.check(isStorable, message));
};
const oneOfBoth = 'Either issuer or namespace is required.';
const profileRule = `profile may have ${profileFields.join(', ')}, each as OpenID Connect defines it.`;

/** A line: an identity, and the person's id in the system that they come from. */
const lineSchema = v.pipe(
  v.object(
    {
      provider: v.picklist(providerIds, `provider must be one of ${providerIds.join(', ')}.`),
      issuer: v.exactOptional(v.pipe(textField('issuer', 2_000), v.transform(canonicalIssuer))),
      namespace: v.exactOptional(textField('namespace', 2_000)),
      subject: textField('subject', 255),
      external_id: textField('external_id', 200),
      profile: v.exactOptional(v.message(profileSchema, profileRule)),
    },
    keyRequired(),
  ),
  v.check(({ issuer, namespace }) => (issuer === undefined) !== (namespace === undefined), oneOfBoth),
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
  return { group: external_id, member: JSON.stringify([canonicalIssuer(issuer || namespace), subject]) };
}

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
 * Imports people with their identities. Lines with the same external id are one person, all in one call; the first is the first
 * identity of somebody new. A person who has logged in keeps everything, and gets the external id. Each write is conditional, so
 * the same lines can be sent again, beside logins and other imports.
 * @throws Error when it has to stop; what was imported stays
 */
export async function importPeople(loginApp: LoginApp, lines: ImportLine[], options: Options) {
  const { read, result, note } = readLines(lines, lineSchema);
  const issuers = new Map<string, { provider: ProviderId; issuer: string; lines: number; known: boolean }>();
  const found = read.map(({ line, content }) => {
    const { provider, subject, external_id, profile } = content;
    const { namespace, isKnown: known } = importedNamespace(loginApp, content);
    const issuer = content.issuer ?? namespace;
    const counted = issuers.get(`${provider} ${issuer}`) ?? { provider, issuer, lines: 0, known };
    issuers.set(`${provider} ${issuer}`, { ...counted, lines: counted.lines + 1 });
    return { external_id, identity: { line, provider, namespace, subject, profile } };
  });
  const people = [...Map.groupBy(found, ({ external_id }) => external_id)];
  await forEachInBatches(people, async ([id, ofPerson]) => {
    const identities = ofPerson.map(({ identity }) => identity);
    const outcomes = await retryOnConflict(
      () => importPerson(loginApp, id, identities, options),
      'The people of the lines keep changing their identities.',
    );
    for (const [{ line }, outcome] of outcomes) note(line, outcome);
  });
  return { ...result, ...(options.dryRun && { issuers: [...issuers.values()] }) };
}

/** Imports a person. @returns the outcome for each identity; undefined when somebody else was faster */
async function importPerson(
  { login_app_id }: LoginApp,
  externalId: string,
  identities: ImportedIdentity[],
  { dryRun, replace }: Options,
): Promise<Map<ImportedIdentity, LineOutcome> | undefined> {
  const allAre = (reason: string) =>
    new Map<ImportedIdentity, LineOutcome>(identities.map((one) => [one, { reason }]));

  // 1. Everything leads to one person, or to nobody.
  const [{ claim, user: holder }, ...places] = await Promise.all([
    findExternalId(login_app_id, externalId),
    ...identities.map((identity) => placeOf(login_app_id, identity)),
  ]);
  const owners = [holder?.login_user_id, ...places.map(({ ownerId }) => ownerId)];
  const [ownerId, ...others] = new Set(owners.filter((id) => id !== undefined));
  if (others.length > 0) {
    const lines = identities.map(({ line }) => line);
    const named = `${lines.length === 1 ? 'line' : 'lines'} ${lines.join(', ')}`;
    return allAre(`The external_id belongs to several people: see ${named}.`);
  }
  const user = holder ?? (ownerId === undefined ? undefined : await readLoginUser(ownerId));
  if (user?.login_user_id !== ownerId) return undefined;
  const isKnown = user?.external_id === externalId;
  if (user?.external_id !== undefined && !isKnown) return allAre('The person has another external_id.');
  const outcomes = new Map<ImportedIdentity, LineOutcome>(
    places.map(({ identity, indexItem, ownerId }, place) => {
      const isAgain = places.findIndex((one) => one.indexItem.id === indexItem.id) < place;
      return [identity, isAgain || (isKnown && ownerId !== undefined) ? 'repeated' : 'added'];
    }),
  );
  const [first, ...further] = places;
  if (dryRun || !first) return outcomes;

  // 2. The external id leads to them.
  const { identities: known = [] } = user ?? {};
  const person = { login_user_id: ownerId ?? first.indexItem.id, login_app_id, identities: known };
  if (!(await claimExternalId(person, externalId, claim))) return allAre(underWay);

  // 3. They have it.
  const give = () =>
    user ? giveExternalId(user, externalId) : createPerson(first, login_app_id, externalId);
  if (!isKnown && !(await give())) return undefined;

  // 4. They have the identities.
  for (const { identity } of (user ? places : further).filter((place) => place.ownerId === undefined)) {
    const { line: _, provider, ...verified } = identity;
    const linked = linkIdentity(person, provider, verified, { byOperator: true });
    outcomes.set(identity, await linked.then(({ isNew }) => (isNew ? 'added' : 'repeated'), refusal));
  }
  const imported = identities.filter((identity) => typeof outcomes.get(identity) === 'string');
  if (replace) await unlinkReplaced(person.login_user_id, imported);
  return outcomes;
}

const underWay =
  'Another import is adding the person of this external_id. Run the command again in a minute.';

async function placeOf(loginAppId: string, identity: ImportedIdentity) {
  const indexItem = await findIndexItem(loginAppId, identity);
  return { identity, indexItem, ownerId: (await confirmedOwner(indexItem))?.login_user_id };
}

const giveExternalId = async ({ login_user_id }: LoginUser, external_id: string): Promise<boolean> => {
  const when = { ...whileExisting, external_id: { exists: false } };
  return (await updateItem(loginUserItem(login_user_id), { set: { external_id }, when })).done;
};

/** Creates a person at the index item of their first identity. False when it is no longer free. */
async function createPerson(
  { identity: { provider, namespace, subject, profile }, indexItem }: Awaited<ReturnType<typeof placeOf>>,
  login_app_id: string,
  external_id: string,
): Promise<boolean> {
  const { id, owner } = indexItem;
  // Its owner doesn't have the identity.
  if (owner) await releaseIdentity(id, owner.identity_id);
  const now = timestamp();
  const person = { login_user_id: id, login_app_id };
  const { done } = await updateItem(loginUserItem(id), {
    set: {
      ...person,
      ...placeAmongPeople(person, now),
      external_id,
      provider,
      namespace,
      subject,
      created_at: now,
      imported_at: now,
      last_login_at: now,
      [identityAttributes.profile(firstIdentityId(id))]: profile,
    },
    when: whileFree,
  });
  return done;
}

/** Unlinks a person's other identities in the namespaces of imported ones. */
async function unlinkReplaced(login_user_id: string, imported: Identity[]): Promise<void> {
  const { identities = [] } = (await readLoginUser(login_user_id)) ?? {};
  for (const { identity_id, namespace, subject } of await ownIdentities(identities)) {
    const ofNamespace = imported.filter((identity) => identity.namespace === namespace);
    if (ofNamespace.length > 0 && ofNamespace.every((identity) => identity.subject !== subject))
      await unlinkIdentity({ login_user_id, identity_id }, { byOperator: true });
  }
}
