import { platforms } from '../../login-apps/platforms.ts';
import { providerIds } from '../../providers/provider-ids.ts';
import { choice, id, number, optional, text } from '../flags.ts';

// Flags that commands of several nouns take.

export const loginApp = id('la_…', 'The Login App', 'login-apps list or login-apps find');
export const account = id('ac_…', 'The account', 'accounts list or accounts find');
export const accessRequest = number('The id of the access request');
export const loginUser = id('lu_…', 'The Login User: the sub of their tokens', 'login-users find');
export const provider = choice(providerIds, 'The provider');
export const platform = choice(platforms, 'The platform');
export const secretOf = (from: string) => id('sec_…', 'The secret', from);
export const secretTo = {
  'secret-to': 'Write the secret to this new file, which only you can read, instead of showing it (optional)',
};
export const nextPage = 'The "next" of the previous page';
export const after = optional(text(nextPage));
export const namePrefix = text('How its name begins, in upper or lower case');
export const name = text('A name for people to recognise it by');
export const client = id('la_….c_…', 'The client', 'clients list');
