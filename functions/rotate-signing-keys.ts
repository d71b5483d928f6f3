import * as v from 'valibot';
import { requireEnvironmentInLambda } from '../lib/environment.ts';
import type { Access } from '../lib/http/endpoint.ts';
import { rotateSigningKeys, rotationStep } from '../lib/tokens/rotate-signing-keys.ts';

/** What it may do with the signing keys comes with the rotation itself. */
export const access: Access = {
  summary: 'Rotates the signing keys',
  table: { GetItem: ['signing_keys'], PutItem: ['signing_keys'] },
  secrets: [],
};

requireEnvironmentInLambda();
export const handler = (event: unknown): Promise<void> => rotateSigningKeys(v.parse(rotationStep, event));
