import * as v from 'valibot';
import { accessOf } from '../lib/http/endpoint.ts';
import { type Invocation, withInvocation } from '../lib/log/request-fields.ts';
import { revokeSigningKey, rotateSigningKeys } from '../lib/signing/rotate.ts';

/** Rights of the function. Those on the signing keys come with the rotation itself. */
export const access = accessOf({
  summary: 'Rotates the signing keys, and revokes one for the operator',
  table: { signing_keys: ['GetItem', 'UpdateItem'] },
});

/** The event with which the operator function calls it: the id of the key to revoke. */
const revocationSchema = v.object({ revoke: v.string() });

export const handler = (event: unknown, invocation: Invocation) =>
  withInvocation(invocation, () =>
    v.is(revocationSchema, event) ? revokeSigningKey(event.revoke) : rotateSigningKeys(event),
  );
