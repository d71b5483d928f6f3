import * as v from 'valibot';
import { audiences, described } from '../settings/fields.ts';

const endOrNot = v.picklist(['end_sessions', 'nothing'], 'must be end_sessions or nothing');
const endOrDelete = v.picklist(
  ['end_sessions', 'nothing', 'delete'],
  'must be end_sessions, nothing or delete',
);
/** The action on a person of whom a provider tells something. */
export type Action = v.InferOutput<typeof endOrDelete>;

/** The setting of what happens when a person has unlinked our app. */
export const onUnlinked = described(
  v.optional(endOrDelete),
  'when a person unlinked your app: these, or `delete`',
);

/** Settings of what an issuer may tell, and what happens then. Without them, it is not listened to. */
export const notificationEntries = {
  audiences: described(
    v.optional(audiences),
    'the `aud` of its security events and logout tokens; your app ids when left out',
  ),
  on_account_disabled: described(
    v.optional(endOrNot),
    'what happens when the account is disabled, as when it was hijacked: `end_sessions`, also when left out, or `nothing`',
  ),
  on_account_purged: described(v.optional(endOrDelete), 'when it is deleted: these, or `delete` the person'),
  on_sessions_revoked: described(v.optional(endOrNot), 'when its sessions are revoked'),
  on_tokens_revoked: described(v.optional(endOrNot), 'when its tokens are revoked'),
  on_credential_change: described(
    v.optional(endOrNot),
    'when a credential or an address changes, is to change, or is compromised; `nothing` when left out, unless it is compromised',
  ),
  on_unlinked: onUnlinked,
  on_logout: described(v.optional(endOrNot), 'when the person logs out there'),
};
