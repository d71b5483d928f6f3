import { platforms } from '../../login-apps/platforms.ts';
import { providerIds } from '../../provider-settings/identifiers.ts';

// Flags that commands of several nouns take.

export const loginApp = { kind: 'id', form: 'la_…', from: 'login-apps list', help: 'The Login App' } as const;
export const account = { kind: 'id', form: 'ac_…', from: 'accounts list', help: 'The account' } as const;
export const accessRequest = { kind: 'number', help: 'The id of the access request' } as const;
export const loginUser = {
  kind: 'id',
  form: 'lu_…',
  from: 'login-users find',
  help: 'The Login User: the sub of their tokens',
} as const;
export const provider = { kind: 'choice', of: providerIds, help: 'The provider' } as const;
export const platform = { kind: 'choice', of: platforms, help: 'The platform' } as const;
export const client = { kind: 'id', form: 'la_….c_…', from: 'clients list', help: 'The client' } as const;
export const secretOf = (from: string) => ({ kind: 'id', form: 'sec_…', from, help: 'The secret' }) as const;
export const secretTo = {
  'secret-to': 'Write the secret to this new file, which only you can read, instead of showing it (optional)',
};
export const after = { kind: 'text', help: 'The "next" of the previous page', optional: true } as const;
export const namePrefix = { kind: 'text', help: 'How its name begins, in upper or lower case' } as const;
export const name = { kind: 'text', help: 'A name for people to recognise it by' } as const;
