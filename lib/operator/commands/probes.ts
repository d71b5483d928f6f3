import { ServiceError } from '../../foundation/service-error.ts';
import { areOfProbe, createProbe, removeProbe } from '../../release/probe.ts';
import { issuer } from '../../tokens/issuer.ts';
import { defineCommands } from '../command.ts';
import { account, client, loginApp } from './shared.ts';

// For `check`, which tries a deployment out as a client and an account of its own.
export const probeCommands = defineCommands({
  'probes create': {
    summary: 'Create a probe: a Login App with a client and an account, for a check; secrets are shown once',
    flags: {},
    run: async () => {
      const { client, account, loginAppId, accessRequestId } = await createProbe();
      return {
        issuer: issuer(),
        login_app_id: loginAppId,
        client_id: client.id,
        client_secret: client.secret,
        account_id: account.id,
        account_secret: account.secret,
        access_request_id: accessRequestId,
      };
    },
  },
  'probes remove': {
    summary: 'Remove a probe, if a check has left one behind',
    flags: { 'login-app': loginApp, client, account },
    run: async ({ 'login-app': loginAppId, client: clientId, account: accountId }) => {
      if (!areOfProbe({ loginAppId, clientId, accountId }))
        throw new ServiceError('invalid_request', 'These are not the ids of a probe.');
      await removeProbe(loginAppId, accountId);
      return { login_app_id: loginAppId, account_id: accountId, removed: true };
    },
  },
});
