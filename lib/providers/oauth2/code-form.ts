import * as v from 'valibot';
import { parameters } from '../../schema/form-parameters.ts';
import { codeParameters } from '../parameters.ts';
import type { StoredSettings } from '../settings/encryption.ts';
import { oauth2 } from './protocol.ts';
import { verifyAuthorizationCode } from './verify-authorization-code.ts';

const ownEntries = v.object(codeParameters);

/**
 * The schema of a form with an authorization code of a provider, which becomes a `Credential`.
 * @param before parameters of the caller's, which are named first where several are missing
 * @param after those that are named last
 */
export const codeForm = <const Before extends v.ObjectEntries, const After extends v.ObjectEntries>(
  before: Before,
  after: After,
) =>
  v.pipe(
    parameters({ ...before, ...codeParameters, ...after }),
    v.transform((form) => ({
      ...form,
      verify: async (stored: StoredSettings) =>
        verifyAuthorizationCode(await oauth2.read(stored), v.parse(ownEntries, form)),
    })),
  );
