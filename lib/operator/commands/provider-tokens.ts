import { peopleLists } from '../../login-users/login-user.ts';
import { forgetAccesses } from '../../people/provider-access/forget-accesses.ts';
import { timeLimit } from '../../storage/batches.ts';
import { defineCommands, optional } from '../command.ts';
import { readPage } from '../pages.ts';
import { after, loginApp, provider } from './shared.ts';

export const providerTokenCommands = defineCommands({
  'providers tokens revoke': {
    summary:
      "Revoke and forget the providers' tokens that are kept of the people of a Login App; they give access again at their next login, unless keep_tokens is taken out of the settings",
    flags: { 'login-app': loginApp, provider: optional(provider), after },
    run: async ({ 'login-app': { login_app_id }, provider, after }) => {
      const hasTime = timeLimit();
      const lists = peopleLists(login_app_id);
      let next = after;
      let forgotten = 0;
      let notRevoked = 0;
      do {
        const { items, next: following } = await readPage(lists, next);
        const numbers = await forgetAccesses(items, provider);
        forgotten += numbers.forgotten;
        notRevoked += numbers.notRevoked;
        next = following;
      } while (next !== undefined && hasTime());
      return {
        login_app_id,
        deleted: next === undefined,
        removed: { provider_tokens: forgotten, not_revoked: notRevoked },
        next,
        again_after_seconds: next === undefined ? undefined : 0,
      };
    },
  },
});
