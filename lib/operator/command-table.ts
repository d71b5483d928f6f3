import { actorTypes, reviewStatuses } from '../access-requests/event.ts';
import { platforms } from '../login-apps/platforms.ts';
import { providerIds } from '../providers/identifiers.ts';
import { presetNames } from '../providers/presets.ts';
import { grantTypes } from '../tokens/grants/grant-types.ts';
import type { IdForm } from './id-forms.ts';

/**
 * What one flag takes. Values of `id`, `number`, `choice` and `subset` are logged, others never are. A `number` is an id too.
 * `lines` is a file that the command line sends line by line, in batches; its name is typed without a flag. A `secret`
 * is typed as the name of a file that holds it (`--app-secret-file`), so that it stays out of the shell's history.
 */
export type Flag = { help: string; optional?: true } & (
  | { kind: 'id'; form: IdForm }
  | { kind: 'choice'; of: readonly string[] }
  /** Some of them, separated by commas; or `all`, or `none`. */
  | { kind: 'subset'; of: readonly string[] }
  | { kind: 'text'; mayBeEmpty?: true }
  | { kind: 'number' | 'json' | 'lines' | 'secret' }
);

/** One operator command. */
export interface Command {
  summary: string;
  flags: Record<string, Flag>;
  /** A command that prints lines instead of one JSON object. */
  pages?: Pages;
}

/** How the lines of a command come: each call's result has some of them, and a `next` if there are more. */
export interface Pages {
  /** The field of the result that holds them. */
  members: string;
  /** The flag that takes the `next` of the result before. */
  from: string;
}

/** What an account may do on its access requests. */
const accountAccess = ['read', 'read-write'] as const;
const loginApp = { kind: 'id', form: 'la_…', help: 'The id of the Login App' } as const;
const account = { kind: 'id', form: 'ac_…', help: 'The id of the account' } as const;
const accessRequest = { kind: 'number', help: 'The id of the access request' } as const;
const loginUser = { kind: 'id', form: 'lu_…', help: 'The Login User: the sub of their tokens' } as const;
const provider = { kind: 'choice', of: providerIds, help: 'The provider' } as const;
const platform = { kind: 'choice', of: platforms, help: 'The platform' } as const;
const client = { kind: 'id', form: 'la_….c_…', help: 'The client id' } as const;
const secret = { kind: 'id', form: 'sec_…', help: 'The id of the secret' } as const;
const access = {
  kind: 'choice',
  of: accountAccess,
  help: 'Whether it may only search, or also write',
} as const;
const allowedGrants = {
  kind: 'subset',
  of: grantTypes,
  help: `The grants that the client may use: all, none (it may only introspect tokens), or some of ${grantTypes.join(', ')}, separated by commas`,
} as const;
const name = { kind: 'text', help: 'A name for people to recognise it by' } as const;
const event = {
  'access-request': accessRequest,
  'actor-type': { kind: 'choice', of: actorTypes, help: 'The kind of author' },
  'actor-id': { kind: 'text', help: "The author's id" },
} as const;

/** Every operator command: noun, verb, flags. Pure data, which the command line and the operator function both read. */
export const commandTable = {
  accounts: {
    create: {
      summary: 'Create an account; its secret is shown only once',
      flags: { name, access: { ...access, optional: true } },
    },
    update: { summary: 'Change what an account may do; takes up to 30 seconds', flags: { account, access } },
    disable: {
      summary: 'Reject the secrets of an account until it is enabled; takes up to 30 seconds',
      flags: { account },
    },
    enable: { summary: 'Accept the secrets of a disabled account again', flags: { account } },
    rotate: {
      summary: 'Give an account a second secret; the old one stays valid until it is revoked',
      flags: { account },
    },
    revoke: { summary: 'Revoke a secret of an account', flags: { account, secret } },
  },
  'login-apps': {
    create: { summary: 'Create a Login App', flags: { name } },
    disable: {
      summary: 'Stop logins and reject all tokens of a Login App until it is enabled; takes up to 30 seconds',
      flags: { 'login-app': loginApp },
    },
    enable: { summary: 'Let people use a disabled Login App again', flags: { 'login-app': loginApp } },
    logout: {
      summary: 'End all sessions of a Login App; takes up to 30 seconds',
      flags: { 'login-app': loginApp },
    },
    'undo-logout': {
      summary: 'Take the latest logout of a Login App back: its sessions go on',
      flags: { 'login-app': loginApp },
    },
    'tokens create': {
      summary: 'Create a long-lived Login App Token to ship inside an app; it is shown only once',
      flags: { 'login-app': loginApp, name },
    },
    'tokens list': {
      summary: 'List the long-lived Login App Tokens of a Login App',
      flags: { 'login-app': loginApp },
    },
    'tokens revoke': {
      summary: 'Revoke a long-lived Login App Token; it stops working within 30 seconds',
      flags: { 'login-app': loginApp, token: { kind: 'id', form: 't_…', help: 'The id of the token' } },
    },
  },
  clients: {
    create: {
      summary: 'Create a client of a Login App; its secret is shown only once',
      flags: { 'login-app': loginApp, 'grant-types': { ...allowedGrants, optional: true } },
    },
    update: {
      summary: 'Change which grants a client may use; takes up to 30 seconds',
      flags: { 'login-app': loginApp, client, 'grant-types': allowedGrants },
    },
    rotate: {
      summary: 'Give a client a second secret; the old one stays valid until it is revoked',
      flags: { 'login-app': loginApp, client },
    },
    revoke: {
      summary: 'Revoke a client and its Login App Tokens, or one of its secrets; takes up to 30 seconds',
      flags: { 'login-app': loginApp, client, secret: { ...secret, optional: true } },
    },
  },
  'mobile-applications': {
    set: { summary: 'Allow devices of a platform to register', flags: { 'login-app': loginApp, platform } },
    remove: {
      summary: 'Stop devices of a platform from registering',
      flags: { 'login-app': loginApp, platform },
    },
  },
  providers: {
    set: {
      summary: 'Set how the credentials of a provider are verified for a Login App',
      flags: {
        'login-app': loginApp,
        provider,
        settings: {
          kind: 'json',
          help: 'A JSON file with the provider settings; - for standard input',
          optional: true,
        },
        preset: { kind: 'choice', of: presetNames, help: 'Or: a well-known provider', optional: true },
        'app-id': { kind: 'text', help: 'With --preset: our app ids, separated by commas', optional: true },
        'app-secret': {
          kind: 'secret',
          help: 'With --preset: a file with the secret of our app, or its private key; - for standard input',
          optional: true,
        },
        'redirect-uri': {
          kind: 'text',
          help: 'With --preset: our redirect URIs, separated by commas',
          optional: true,
        },
        tenant: { kind: 'text', help: 'With --preset microsoft: the tenant id', optional: true },
        'team-id': { kind: 'text', help: 'With --preset apple: the team id', optional: true },
        'key-id': { kind: 'text', help: 'With --preset apple: the id of the private key', optional: true },
        namespace: {
          kind: 'text',
          help: 'With --preset: to whom the person ids belong, when the host changes',
          optional: true,
        },
      },
    },
    remove: {
      summary: 'Remove the settings of a provider, or one of its issuers; takes up to 30 seconds',
      flags: {
        'login-app': loginApp,
        provider,
        issuer: { kind: 'text', help: 'Only this issuer', optional: true },
      },
    },
    check: {
      summary: 'Call a provider with its settings and report what is wrong',
      flags: { 'login-app': loginApp, provider },
    },
    show: {
      summary: 'Show the provider settings of a Login App, with secrets masked',
      flags: { 'login-app': loginApp, provider: { ...provider, optional: true } },
    },
  },
  'access-requests': {
    create: { summary: 'Create an access request that an account has access to', flags: { account } },
    grant: {
      summary: 'Give an account access to an access request',
      flags: { 'access-request': accessRequest, account },
    },
    revoke: {
      summary: "Remove an account's access to an access request",
      flags: { 'access-request': accessRequest, account },
    },
  },
  comments: {
    add: {
      summary: 'Add a comment to an access request',
      flags: { ...event, comment: { kind: 'text', mayBeEmpty: true, help: 'The comment; may be empty' } },
    },
  },
  reviews: {
    add: {
      summary: 'Add a review to an access request',
      flags: {
        ...event,
        status: { kind: 'choice', of: reviewStatuses, help: 'The verdict' },
        comment: { kind: 'text', mayBeEmpty: true, help: 'A comment', optional: true },
      },
    },
  },
  events: {
    list: {
      summary: 'List the events of an access request, 100 at a time, each with who wrote it',
      flags: {
        'access-request': accessRequest,
        after: { kind: 'number', help: 'The "next" of the previous page', optional: true },
      },
    },
    import: {
      summary: 'Add the comments and reviews of a file; run it again to continue after an interruption',
      flags: { events: { kind: 'lines', help: 'A file of JSON objects, one per line, like search results' } },
    },
    export: {
      summary: 'Print the comments and reviews of an access request, as import reads them',
      flags: {
        'access-request': accessRequest,
        'after-event': { kind: 'number', help: 'Only those after this id', optional: true },
      },
      pages: { members: 'events', from: 'after-event' },
    },
  },
  devices: {
    list: {
      summary: 'List the devices that receive messages to a Login User or to a whole Login App',
      flags: {
        'login-user': { ...loginUser, optional: true },
        'login-app': { ...loginApp, optional: true },
        after: { kind: 'text', help: 'The "next" of the previous page', optional: true },
      },
    },
    disable: {
      summary: 'Stop sending messages to a device until it registers again',
      flags: { device: { kind: 'id', form: 'd_…', help: 'The id of the device' } },
    },
    import: {
      summary: 'Add the devices of a file; run it again to continue after an interruption',
      flags: {
        'login-app': loginApp,
        devices: { kind: 'lines', help: 'A file of JSON objects, one per line: platform, token and more' },
      },
    },
    export: {
      summary: 'Print the active devices of a Login App with their tokens, as import reads them',
      flags: {
        'login-app': loginApp,
        after: { kind: 'text', help: 'Where an earlier export stopped', optional: true },
      },
      pages: { members: 'devices', from: 'after' },
    },
  },
  'signing-keys': {
    revoke: {
      summary:
        'Revoke a signing key that has leaked; another one signs, and its tokens stop within 5 minutes',
      flags: { kid: { kind: 'id', form: 'k_…', help: 'The id of the key: the kid of its tokens' } },
    },
  },
  'login-users': {
    block: { summary: 'Block a Login User from logging in', flags: { 'login-user': loginUser } },
    unblock: { summary: 'Let a blocked Login User log in again', flags: { 'login-user': loginUser } },
    sessions: { summary: 'List the sessions of a Login User', flags: { 'login-user': loginUser } },
    logout: { summary: 'End all sessions of a Login User', flags: { 'login-user': loginUser } },
    delete: {
      summary: 'Delete a Login User, their sessions, identities and the relations of their devices',
      flags: { 'login-user': loginUser },
    },
    'retry-revocations': {
      summary: "Revoke a deleted Login User's tokens at providers that did not answer then",
      flags: { 'login-user': loginUser },
    },
  },
} as const satisfies Record<string, Record<string, Command>>;
