import * as v from 'valibot';
import { requireEnvironmentInLambda } from '../lib/foundation/environment.ts';
import type { Access } from '../lib/http/endpoint.ts';
import { rotationStepSchema } from '../lib/secrets/secret-store.ts';
import { revokeSigningKey, rotateSigningKeys } from '../lib/signing/rotate.ts';
import { type RevocationAnswer, signingKeyRevocationSchema } from '../lib/signing/settings.ts';

/** Rights of the function. Those on the signing keys come with the rotation itself. */
export const access: Access = {
  summary: 'Rotates the signing keys, and revokes one for the operator',
  table: { GetItem: ['signing_keys'], UpdateItem: ['signing_keys'] },
};

requireEnvironmentInLambda();
const eventSchema = v.union([rotationStepSchema, signingKeyRevocationSchema]);

export async function handler(call: unknown): Promise<RevocationAnswer | undefined> {
  const parsed = v.parse(eventSchema, call);
  if ('revoke' in parsed) return revokeSigningKey(parsed.revoke);
  await rotateSigningKeys(parsed);
  return undefined;
}
