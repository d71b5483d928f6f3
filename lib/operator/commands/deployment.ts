import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import * as v from 'valibot';
import { environment } from '../../foundation/environment.ts';
import { invalid } from '../../foundation/service-error.ts';
import { createProbe, removeProbe } from '../../release/probe.ts';
import { probeIds } from '../../storage/probe-ids.ts';
import { issuer } from '../../tokens/issuer.ts';
import { defineCommands, id, versions } from '../command.ts';
import { accountId, client, loginAppId } from './shared.ts';

const rotationFunction = environment('SIGNING_KEY_ROTATION_FUNCTION');
const lambda = new LambdaClient({});

/** The answer of `revokeSigningKey`. */
const revocationAnswerSchema = v.union([
  v.object({ signing_kid: v.string(), warning: v.optional(v.string()) }),
  v.object({ error: v.string() }),
]);

export const deploymentCommands = defineCommands({
  // The rotation function does it: nothing else may write the keys.
  'signing-keys revoke': {
    summary:
      'Revoke a signing key that has leaked; another one signs, and its tokens stop within 5 minutes',
    flags: { kid: id('k_…', 'The id of the key: the kid of its tokens') },
    run: async ({ kid }) => {
      const call = { FunctionName: rotationFunction(), Payload: JSON.stringify({ revoke: kid }) };
      const { Payload, FunctionError } = await lambda.send(new InvokeCommand(call));
      if (FunctionError) throw new Error('The rotation function failed. Its log says why.');
      const answer = v.parse(
        revocationAnswerSchema,
        JSON.parse(Payload?.transformToString() ?? ''),
      );
      if ('error' in answer) throw invalid(answer.error);
      return { kid, revoked: true, ...answer };
    },
  },
  // For `check`, which tries a deployment out as a client and an account of its own.
  'probes create': {
    isMachinery: true,
    summary:
      'Create a probe: a Login App with a client and an account, for a check; secrets are shown once',
    flags: {},
    run: async () => {
      const { expires_at: _, ...probe } = await createProbe();
      return { issuer: issuer(), ...probe };
    },
  },
  'probes remove': {
    isMachinery: true,
    summary: 'Remove a probe, if a check has left one behind',
    flags: { 'login-app': loginAppId, client, account: accountId },
    run: async ({ 'login-app': loginAppId, client: clientId, account: accountId }) => {
      const isLoginApp =
        loginAppId.startsWith(probeIds.loginApp) && clientId.startsWith(loginAppId);
      if (!isLoginApp || !accountId.startsWith(probeIds.account))
        throw invalid('These are not the ids of a probe.');
      await removeProbe(loginAppId, accountId);
      return { login_app_id: loginAppId, account_id: accountId, removed: true };
    },
  },
  // For `release back` and `release forward`, which work without the operator function, as it may
  // be broken too.
  'release note': {
    isMachinery: true,
    summary: 'Note in the audit log which versions you have set live, if release could not',
    flags: { versions: versions('The functions, each with the version that is live from now on') },
    example: '--versions issue-token:11,add-comment:7',
    run: async ({ versions }) => ({ versions, noted: true }),
  },
});
