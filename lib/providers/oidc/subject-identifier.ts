import type { JWTPayload } from 'jose';
import * as v from 'valibot';
import { subjectAt } from '../credential.ts';
import type { KnownIssuer } from '../settings/issuers.ts';
import { canonicalIssuer } from './issuer.ts';
import { refused } from './signed-message.ts';
import { providerSessionOf } from './verify.ts';

interface Subject {
  subject?: string | undefined;
  /** The hash of the provider's session. */
  providerSession?: string | undefined;
}

const identifierSchema = v.looseObject({
  format: v.optional(v.string()),
  /** The name of `format` in the drafts, which Google and Kakao send. */
  subject_type: v.optional(v.string()),
  user: v.optional(v.unknown()),
  session: v.optional(v.looseObject({ id: v.optional(v.string()) })),
});

/**
 * The person, or the session, that a security event is about: at the top of the token, or in the event as in the drafts.
 * Only the issuer's own people are its subjects.
 * @throws ServiceError `invalid_request`
 * @see RFC 9493 section 3.2.3; OpenID Shared Signals Framework 1.0, section 3.2
 */
export function readSubject(issuer: KnownIssuer, { sub, sub_id }: JWTPayload, event: object): Subject {
  const inEvent = 'subject' in event ? event.subject : undefined;
  const [first, ...others] = [sub_id, inEvent].filter((one) => one !== undefined).map(readIdentifier(issuer));
  if (!first) throw refused('The token names no subject.');
  const named = [first, ...others].map(({ subject }) => subject);
  if (sub !== undefined) named.push(sub);
  if (new Set(named).size > 1) throw refused('The token names different subjects.');
  return first;
}

const readIdentifier =
  (issuer: KnownIssuer) =>
  (identifier: unknown): Subject => {
    const { output, form } = parsed(identifier);
    // Google names a token, and we keep none that it could mean.
    if (form === 'oauth_token') return {};
    if (form !== 'complex') return { subject: ownSubject(issuer, identifier) };
    const { user, session } = output;
    const providerSession = providerSessionOf(issuer, session?.id);
    const subject = user === undefined ? undefined : ownSubject(issuer, user);
    if (subject === undefined && providerSession === undefined)
      throw refused('A complex subject needs a user or a session.');
    return { subject, providerSession };
  };

function parsed(identifier: unknown) {
  const { success, output } = v.safeParse(identifierSchema, identifier);
  if (!success) throw refused('The subject is malformed.');
  const { format = output.subject_type ?? 'complex' } = output;
  return { output, form: format.replaceAll('-', '_') };
}

/** The `sub` of an identifier that names the issuer of the token. */
function ownSubject({ issuer }: KnownIssuer, identifier: unknown): string {
  const { output, form } = parsed(identifier);
  if (form !== 'iss_sub') throw refused('The subject must be of the format iss_sub.');
  const { iss } = output;
  if (typeof iss !== 'string' || canonicalIssuer(iss) !== issuer)
    throw refused('The issuer of the subject is not the issuer of the token.');
  const subject = subjectAt(output, 'sub');
  if (subject === undefined) throw refused('The subject has no usable sub.');
  return subject;
}
