import { actorTypes, reviewStatuses } from '../access-requests/event.ts';
import { platforms } from '../login-apps/platforms.ts';
import { providerIds } from '../providers/identifiers.ts';
import { presetNames } from '../providers/presets.ts';
import type { IdForm } from './id-forms.ts';

/**
 * What one flag takes. `id` and `number` say which thing of ours is meant: they and choices are logged, and nothing
 * else is. `lines` is a file that the command line sends line by line, in batches; it is named without a flag.
 */
export type Flag = { help: string; optional?: true } & (
  | { kind: 'id'; form: IdForm }
  | { kind: 'choice'; of: readonly string[] }
  | { kind: 'number' | 'text' | 'json' | 'lines' }
);

/** One operator command. */
export interface Command {
  summary: string;
  flags: Record<string, Flag>;
}

const loginApp = { kind: 'id', form: 'la_…', help: 'The id of the Login App' } as const;
const account = { kind: 'id', form: 'ac_…', help: 'The id of the account' } as const;
const accessRequest = { kind: 'number', help: 'The id of the access request' } as const;
const loginUser = {
  kind: 'id',
  form: 'lu_…',
  help: 'The id of the Login User, the sub of their tokens',
} as const;
const provider = { kind: 'choice', of: providerIds, help: 'The provider' } as const;
const platform = { kind: 'choice', of: platforms, help: 'The platform' } as const;
const client = { kind: 'id', form: 'la_….c_…', help: 'The client id' } as const;
const secret = { kind: 'id', form: 'sec_…', help: 'The id of the secret' } as const;
const name = { kind: 'text', help: 'A name to know it by' } as const;
const event = {
  'access-request': accessRequest,
  'actor-type': { kind: 'choice', of: actorTypes, help: 'What the author is' },
  'actor-id': { kind: 'text', help: "The author's id" },
} as const;

/** Every command of the operator: noun, verb, flags. Pure data; the command line and the function both read it. */
export const commandTable = {
  accounts: {
    create: { summary: 'Create an account; its secret is shown this once', flags: { name } },
    rotate: {
      summary: 'Give an account a new secret; the old one is valid until it is revoked',
      flags: { account },
    },
    revoke: { summary: 'Revoke a secret of an account', flags: { account, secret } },
  },
  'login-apps': {
    create: { summary: 'Create a Login App', flags: { name } },
    'tokens create': {
      summary: 'Create a long-lived Login App Token to ship inside an app; it is shown this once',
      flags: { 'login-app': loginApp, name },
    },
    'tokens list': {
      summary: 'List the long-lived Login App Tokens of a Login App',
      flags: { 'login-app': loginApp },
    },
    'tokens revoke': {
      summary: 'Revoke a long-lived Login App Token; it ends within 30 seconds',
      flags: { 'login-app': loginApp, token: { kind: 'id', form: 't_…', help: 'The id of the token' } },
    },
  },
  clients: {
    create: {
      summary: 'Create a client of a Login App; its secret is shown this once',
      flags: { 'login-app': loginApp },
    },
    rotate: {
      summary: 'Give a client a new secret; the old one is valid until it is revoked',
      flags: { 'login-app': loginApp, client },
    },
    revoke: {
      summary: 'Revoke a client with its Login App Tokens, or one of its secrets; it ends within 30 seconds',
      flags: { 'login-app': loginApp, client, secret: { ...secret, optional: true } },
    },
  },
  'mobile-applications': {
    set: { summary: 'Let devices of a platform register', flags: { 'login-app': loginApp, platform } },
    remove: {
      summary: 'Let devices of a platform register no more',
      flags: { 'login-app': loginApp, platform },
    },
  },
  providers: {
    set: {
      summary: 'Say how credentials of a provider are verified for a Login App',
      flags: {
        'login-app': loginApp,
        provider,
        settings: { kind: 'json', help: 'A JSON file with the provider settings', optional: true },
        preset: {
          kind: 'choice',
          of: presetNames,
          help: 'Or: the settings of a well-known provider',
          optional: true,
        },
        'app-id': { kind: 'text', help: 'For a preset: our app ids there, joined by commas', optional: true },
        'app-secret': { kind: 'text', help: 'For a preset: the secret of our app there', optional: true },
        'redirect-uri': { kind: 'text', help: 'For a preset: where codes are sent to', optional: true },
        tenant: { kind: 'text', help: 'For the preset microsoft: the id of the directory', optional: true },
      },
    },
    check: {
      summary: 'Call a provider as it is set up, and say what is wrong',
      flags: { 'login-app': loginApp, provider },
    },
    show: {
      summary: 'Show the provider settings of a Login App, secrets masked',
      flags: { 'login-app': loginApp, provider: { ...provider, optional: true } },
    },
  },
  'access-requests': {
    create: { summary: 'Create an access request, with access for an account', flags: { account } },
    grant: {
      summary: 'Give an account access to an access request',
      flags: { 'access-request': accessRequest, account },
    },
    revoke: {
      summary: 'Take the access to an access request from an account',
      flags: { 'access-request': accessRequest, account },
    },
  },
  comments: {
    add: {
      summary: 'Add a comment to an access request',
      flags: { ...event, comment: { kind: 'text', help: 'The comment; may be empty' } },
    },
  },
  reviews: {
    add: {
      summary: 'Add a review to an access request',
      flags: {
        ...event,
        status: { kind: 'choice', of: reviewStatuses, help: 'The verdict' },
        comment: { kind: 'text', help: 'A comment', optional: true },
      },
    },
  },
  events: {
    import: {
      summary: 'Add the comments and reviews of a file; run again, it goes on where it stopped',
      flags: {
        events: { kind: 'lines', help: 'A JSON object on each line, like the results of a search' },
      },
    },
  },
  devices: {
    list: {
      summary: 'List the devices that messages to a Login User, or to everyone in a Login App, go to',
      flags: {
        'login-user': { ...loginUser, optional: true },
        'login-app': { ...loginApp, optional: true },
        after: { kind: 'text', help: 'The next of the list before; a Login App has many', optional: true },
      },
    },
    disable: {
      summary: 'Send nothing more to a device, until it registers again',
      flags: { device: { kind: 'id', form: 'd_…', help: 'The id of the device' } },
    },
  },
  'login-users': {
    block: { summary: 'Let a Login User in no more', flags: { 'login-user': loginUser } },
    unblock: { summary: 'Let a blocked Login User in again', flags: { 'login-user': loginUser } },
    sessions: { summary: 'List the sessions of a Login User', flags: { 'login-user': loginUser } },
    logout: { summary: 'End all sessions of a Login User', flags: { 'login-user': loginUser } },
    delete: {
      summary: 'Delete a Login User with their sessions and the relations of their devices',
      flags: { 'login-user': loginUser },
    },
  },
} as const satisfies Record<string, Record<string, Command>>;
