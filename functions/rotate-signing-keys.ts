import * as v from 'valibot';
import { rotateSigningKeys, rotationStep } from '../lib/tokens/rotate-signing-keys.ts';

export const handler = (event: unknown): Promise<void> => rotateSigningKeys(v.parse(rotationStep, event));
