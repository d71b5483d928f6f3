import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import * as v from 'valibot';
import { environment } from '../../foundation/environment.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { revocationAnswerSchema, type SigningKeyRevocation } from '../../signing/revocation.ts';
import { defineCommands } from '../command.ts';
import { id } from '../flags.ts';

const rotationFunction = environment('SIGNING_KEY_ROTATION_FUNCTION');
const client = new LambdaClient({});

// The rotation function does it: nothing else may write the keys.
export const signingKeyCommands = defineCommands({
  'signing-keys revoke': {
    summary: 'Revoke a signing key that has leaked; another one signs, and its tokens stop within 5 minutes',
    flags: { kid: id('k_…', 'The id of the key: the kid of its tokens') },
    run: async ({ kid }) => {
      const call: SigningKeyRevocation = { revoke: kid };
      const { Payload, FunctionError } = await client.send(
        new InvokeCommand({ FunctionName: rotationFunction(), Payload: JSON.stringify(call) }),
      );
      if (FunctionError) throw new Error('The rotation function failed. Its log says why.');
      const answer = v.parse(revocationAnswerSchema, JSON.parse(Payload?.transformToString() ?? ''));
      if ('error' in answer) throw new ServiceError('invalid_request', answer.error);
      return { kid, revoked: true, ...answer };
    },
  },
});
