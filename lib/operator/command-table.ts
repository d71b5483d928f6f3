import { actorTypes, reviewStatuses } from '../access-requests/event.ts';
import { platforms } from '../login-apps/platforms.ts';
import { providerIds } from '../providers/identifiers.ts';
import { presetNames } from '../providers/presets.ts';
import { grantTypes } from '../tokens/grants/grant-types.ts';
import type { IdForm } from './id-forms.ts';

/**
 * What one flag takes. Values of `id`, `number`, `choice`, `subset` and `switch` are logged, others never are. A `number` is an id too.
 * `lines` is a file that the command line sends line by line, in batches; its name is typed without a flag. A `secret`
 * is typed as the name of a file that holds it (`--app-secret-file`), so that it stays out of the shell's history.
 */
export type Flag = { help: string; optional?: true } /** `from` names the command that shows such ids. */ & (
  | { kind: 'id'; form: IdForm; from?: string }
  | { kind: 'choice'; of: readonly string[] }
  /** Some of them, separated by commas; or `all`, or `none`. */
  | { kind: 'subset'; of: readonly string[] }
  | { kind: 'text'; mayBeEmpty?: true }
  /** Given or not, without a value. Optional, of course. */
  | { kind: 'switch' }
  | { kind: 'number' | 'json' | 'lines' | 'secret' }
);

/** One operator command. */
export interface Command {
  summary: string;
  flags: Record<string, Flag>;
  /** A command that prints lines instead of one JSON object. */
  pages?: Pages;
  /** Flags that the command line keeps to itself, with their help: each names a file on the caller's machine. */
  files?: Record<string, string>;
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
const loginApp = { kind: 'id', form: 'la_…', from: 'login-apps list', help: 'The Login App' } as const;
const account = { kind: 'id', form: 'ac_…', from: 'accounts list', help: 'The account' } as const;
const accessRequest = { kind: 'number', help: 'The id of the access request' } as const;
const loginUser = {
  kind: 'id',
  form: 'lu_…',
  from: 'login-users find',
  help: 'The Login User: the sub of their tokens',
} as const;
const provider = { kind: 'choice', of: providerIds, help: 'The provider' } as const;
const platform = { kind: 'choice', of: platforms, help: 'The platform' } as const;
const client = { kind: 'id', form: 'la_….c_…', from: 'clients list', help: 'The client' } as const;
const secretOf = (from: string) => ({ kind: 'id', form: 'sec_…', from, help: 'The secret' }) as const;
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
const secretTo = {
  'secret-to': 'Write the secret to this new file, which only you can read, instead of showing it (optional)',
};
const after = { kind: 'text', help: 'The "next" of the previous page', optional: true } as const;
const namePrefix = { kind: 'text', help: 'How its name begins, in upper or lower case' } as const;
const name = { kind: 'text', help: 'A name for people to recognise it by' } as const;
const event = {
  'access-request': accessRequest,
  'actor-type': { kind: 'choice', of: actorTypes, help: 'The kind of author' },
  'actor-id': { kind: 'text', help: "The author's id" },
} as const;

/** Every operator command: noun, verb, flags. Pure data, which the command line and the operator function both read. */
export const commandTable = {
  accounts: {
    list: { summary: 'List all accounts by name', flags: { after } },
    find: { summary: 'List the accounts whose names begin with a text', flags: { name: namePrefix, after } },
    show: { summary: 'Show an account, its secrets and whether it is disabled', flags: { account } },
    create: {
      summary: 'Create an account; its secret is shown only once',
      flags: { name, access: { ...access, optional: true } },
      files: secretTo,
    },
    rename: { summary: 'Give an account another name', flags: { account, name } },
    update: { summary: 'Change what an account may do; takes up to 30 seconds', flags: { account, access } },
    disable: {
      summary: 'Reject the secrets of an account until it is enabled; takes up to 30 seconds',
      flags: { account },
    },
    enable: { summary: 'Accept the secrets of a disabled account again', flags: { account } },
    rotate: {
      summary: 'Give an account a second secret; the old one stays valid until it is revoked',
      flags: { account },
      files: secretTo,
    },
    delete: {
      summary: 'Delete an account and its accesses; its access requests and what it wrote stay',
      flags: { account },
    },
    revoke: {
      summary: 'Revoke a secret of an account',
      flags: { account, secret: secretOf('accounts show') },
    },
  },
  'login-apps': {
    list: { summary: 'List all Login Apps by name', flags: { after } },
    find: {
      summary: 'List the Login Apps whose names begin with a text',
      flags: { name: namePrefix, after },
    },
    show: {
      summary: 'Show a Login App, what is set up for it and whether it is disabled',
      flags: { 'login-app': loginApp },
    },
    rename: { summary: 'Give a Login App another name', flags: { 'login-app': loginApp, name } },
    create: { summary: 'Create a Login App', flags: { name } },
    disable: {
      summary: 'Stop logins and reject all tokens of a Login App until it is enabled; takes up to 30 seconds',
      flags: { 'login-app': loginApp },
    },
    enable: { summary: 'Let people use a disabled Login App again', flags: { 'login-app': loginApp } },
    delete: {
      summary: 'Delete a Login App while nobody can log in, or with all its people and devices',
      flags: {
        'login-app': loginApp,
        'with-everything': {
          kind: 'switch',
          help: 'Disable it, and delete its people and devices too',
          optional: true,
        },
      },
    },
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
      files: secretTo,
    },
    'tokens list': {
      summary: 'List the long-lived Login App Tokens of a Login App',
      flags: { 'login-app': loginApp },
    },
    'tokens revoke': {
      summary: 'Revoke a long-lived Login App Token; it stops working within 30 seconds',
      flags: {
        'login-app': loginApp,
        token: { kind: 'id', form: 't_…', from: 'login-apps tokens list', help: 'The token' },
      },
    },
  },
  clients: {
    list: {
      summary: 'List the clients of a Login App',
      flags: {
        'login-app': loginApp,
        after: { kind: 'id', form: 'la_….c_…', help: after.help, optional: true },
      },
    },
    find: {
      summary: 'Show which client of a Login App has a secret',
      flags: {
        'login-app': loginApp,
        secret: { kind: 'secret', help: 'A file with the secret of a client; - for standard input' },
      },
    },
    show: {
      summary: 'Show a client, its secrets, its grants and whether its Login App is disabled',
      flags: { client },
    },
    create: {
      summary: 'Create a client of a Login App; its secret is shown only once',
      flags: { 'login-app': loginApp, 'grant-types': { ...allowedGrants, optional: true } },
      files: secretTo,
    },
    update: {
      summary: 'Change which grants a client may use; takes up to 30 seconds',
      flags: { 'login-app': loginApp, client, 'grant-types': allowedGrants },
    },
    rotate: {
      summary: 'Give a client a second secret; the old one stays valid until it is revoked',
      flags: { 'login-app': loginApp, client },
      files: secretTo,
    },
    revoke: {
      summary: 'Revoke a client and its Login App Tokens, or one of its secrets; takes up to 30 seconds',
      flags: { 'login-app': loginApp, client, secret: { ...secretOf('clients show'), optional: true } },
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
          help: 'With --preset: who vouches for the people; needed when the host changes',
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
    list: { summary: 'List the access requests that an account has access to', flags: { account, after } },
    show: {
      summary: 'Show an access request, who has access to it and how many events it has',
      flags: { 'access-request': accessRequest },
    },
    find: {
      summary: 'Show which access request an import made of an id',
      flags: { account, 'imported-id': { kind: 'text', help: 'Its id in the system that it came from' } },
    },
    create: { summary: 'Create an access request that an account has access to', flags: { account } },
    import: {
      summary:
        'Create an access request for each line of a file; run it again to continue after an interruption',
      flags: {
        account,
        'access-requests': {
          kind: 'lines',
          help: 'A file of JSON objects, one per line, with id and created_at',
        },
      },
      files: { 'ids-to': 'Write which id became which to this file, for events import (optional)' },
    },
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
      files: { 'ids-from': 'Replace the access_request_id of each line by what this file says (optional)' },
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
        after,
      },
    },
    show: {
      summary: 'Show a device, whose it is and whether it is disabled',
      flags: { device: { kind: 'id', form: 'd_…', from: 'devices list', help: 'The device' } },
    },
    find: {
      summary: 'Show the device that has a push token',
      flags: {
        'login-app': loginApp,
        platform,
        token: { kind: 'secret', help: 'A file with the push token; - for standard input' },
      },
    },
    disable: {
      summary: 'Stop sending messages to a device until it registers again',
      flags: { device: { kind: 'id', form: 'd_…', from: 'devices list', help: 'The device' } },
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
  probes: {
    create: {
      summary:
        'Create a probe: a Login App with a client and an account, for a check; secrets are shown once',
      flags: {},
    },
    remove: {
      summary: 'Remove a probe, if a check has left one behind',
      flags: { 'login-app': loginApp, client, account },
    },
  },
  'login-users': {
    list: {
      summary: 'List the people of a Login App',
      flags: { 'login-app': loginApp, after },
    },
    show: {
      summary: 'Show a Login User and whether anything keeps them out',
      flags: { 'login-user': loginUser },
    },
    find: {
      summary: 'Show the Login User whom a provider knows by a subject',
      flags: {
        'login-app': loginApp,
        provider,
        subject: { kind: 'text', help: "The provider's id of the person" },
        issuer: {
          kind: 'text',
          help: 'Who vouches for them, if the provider has several issuers or was removed',
          optional: true,
        },
      },
    },
    block: { summary: 'Block a Login User from logging in', flags: { 'login-user': loginUser } },
    unblock: { summary: 'Let a blocked Login User log in again', flags: { 'login-user': loginUser } },
    logout: { summary: 'End all sessions of a Login User', flags: { 'login-user': loginUser } },
    delete: {
      summary: 'Delete a Login User, their sessions, identities and the relations of their devices',
      flags: { 'login-user': loginUser },
    },
    'retry-revocations': {
      summary: "Revoke a deleted Login User's tokens at providers that did not answer then",
      flags: { 'login-user': loginUser },
    },
    export: {
      summary: 'Show everything that is known about a Login User, as one JSON document',
      flags: { 'login-user': loginUser },
    },
  },
  sessions: {
    list: {
      summary: 'List the active sessions of a Login User',
      flags: {
        'login-user': loginUser,
        after: { kind: 'id', form: 's_…', help: after.help, optional: true },
      },
    },
    find: {
      summary: 'Show the session that an access token or a refresh token belongs to',
      flags: {
        token: {
          kind: 'secret',
          help: 'A file with the token, which may have expired; - for standard input',
        },
      },
    },
    show: {
      summary: 'Show a session and whether it is active',
      flags: {
        'login-user': loginUser,
        session: {
          kind: 'id',
          form: 's_…',
          from: 'sessions list',
          help: 'The session: the sid of its tokens',
        },
      },
    },
  },
} as const satisfies Record<string, Record<string, Command>>;
