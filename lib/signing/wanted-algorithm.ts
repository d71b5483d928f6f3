import * as v from 'valibot';
import { environment } from '../foundation/environment.ts';
import { type TokenAlgorithm, tokenAlgorithms } from './token-algorithm.ts';

const setting = environment('TOKEN_ALGORITHM');
const wantedAlgorithmSchema = v.picklist(
  tokenAlgorithms,
  `The environment variable TOKEN_ALGORITHM must be ${tokenAlgorithms.join(' or ')}.`,
);

/** The algorithm of new signing keys. @throws ValiError when the setting names none */
export const wantedAlgorithm = (): TokenAlgorithm => v.parse(wantedAlgorithmSchema, setting());
