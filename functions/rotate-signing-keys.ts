import * as v from 'valibot';
import { accessOf } from '../lib/http/endpoint.ts';
import { type RevocationAnswer, signingKeyRevocationSchema } from '../lib/signing/revocation.ts';
import { revokeSigningKey, rotateSigningKeys } from '../lib/signing/rotate.ts';

/** Rights of the function. Those on the signing keys come with the rotation itself. */
export const access = accessOf({
  summary: 'Rotates the signing keys, and revokes one for the operator',
  table: { signing_keys: ['GetItem', 'UpdateItem'] },
});

export async function handler(call: unknown): Promise<RevocationAnswer | undefined> {
  if (v.is(signingKeyRevocationSchema, call)) return revokeSigningKey(call.revoke);
  await rotateSigningKeys(call);
  return undefined;
}
