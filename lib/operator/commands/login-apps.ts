import { invalid } from '../../foundation/service-error.ts';
import type { LoginAppClient } from '../../login-apps/clients.ts';
import * as loginApps from '../../login-apps/login-app.ts';
import {
  createLoginAppToken,
  loginAppTokenItem,
  type StoredLoginAppToken,
} from '../../login-apps/login-app-tokens.ts';
import {
  defaultGuestsPerClient,
  defaultGuestsPerHour,
  endAllSessions,
  type GuestRules,
  undoLogout,
} from '../../login-apps/status.ts';
import { deleteLoginApp, reasonToKeep } from '../../people/deletion/delete-login-app.ts';
import { providerIds } from '../../providers/provider-ids.ts';
import { protocolOf } from '../../providers/providers.ts';
import { providersOf } from '../../providers/public-clients.ts';
import { offerOf, requiredOfPublicClient } from '../../providers/set-up/offer.ts';
import { deleteItem, setTimestamp, updateOwnItem } from '../../storage/items.ts';
import { loginAppsList, namePrefix as prefixOf } from '../../storage/keys.ts';
import { named } from '../../storage/lists.ts';
import { noncePath, tokenPath } from '../../tokens/issuer.ts';
import { choice, count, defineCommands, existing, id, onOff, optional } from '../command.ts';
import { readPage, sortedByName } from '../pages.ts';
import { clientShown } from './clients.ts';
import { after, existingOf, loginApp, loginAppId, name, namePrefix, secretTo } from './shared.ts';

/** The least and the greatest quota of guests in an hour: one item counts them all. */
const mostGuests: [number, number] = [1, 1_000_000];

async function disable(login_app_id: string, disabled: boolean) {
  existing(
    await setTimestamp(loginApps.loginAppItem(login_app_id), 'disabled_at', disabled),
    'Login App',
  );
  return { login_app_id, disabled };
}

const loginAppShown = (app: loginApps.LoginAppItem) => ({
  login_app_id: app.login_app_id,
  name: app.name,
  disabled: app.disabled_at !== undefined,
  disabled_at: app.disabled_at,
  sign_ups: app.sign_ups_closed_at === undefined ? undefined : 'closed',
  guests: app.guests,
  sessions_valid_from: app.sessions_valid_from,
  created_at: app.created_at,
});

const tokenShown = ({ token_id, name, created_at }: StoredLoginAppToken) => ({
  token_id,
  name,
  created_at,
});

async function loginAppsPage(after: string | undefined, prefix = '') {
  const { items, ...page } = await readPage(loginAppsList, after, prefix);
  const shown = items.map((item) => loginAppShown(loginApps.loginAppItem.parse(item)));
  return { login_apps: sortedByName(shown), ...page };
}

export const loginAppCommands = defineCommands({
  'login-apps list': {
    summary: 'List all Login Apps by name',
    flags: { after },
    run: ({ after }) => loginAppsPage(after),
  },
  'login-apps find': {
    summary: 'List the Login Apps whose names begin with a text',
    flags: { name: namePrefix, after },
    run: ({ name, after }) => loginAppsPage(after, prefixOf(name)),
  },
  'login-apps show': {
    summary:
      'Show a Login App, what is set up for it, how people log in and whether it is disabled',
    flags: { 'login-app': loginApp },
    run: async ({ 'login-app': app }) => ({
      ...loginAppShown(app),
      providers: [...app.providers.keys()],
      logins: loginsOf(app),
      mobile_applications: [...app.mobileApplications],
      clients: [...app.clients.values()].map(clientShown),
      tokens: [...app.tokens.values()].map(tokenShown),
    }),
  },
  'login-apps describe': {
    summary: 'Print a page for app developers: which provider is which company, and what to send',
    flags: { 'login-app': loginApp },
    text: 'page',
    run: async ({ 'login-app': app }) => ({
      login_app_id: app.login_app_id,
      page: pageOfLogins(app),
    }),
  },
  'login-apps rename': {
    summary: 'Give a Login App another name',
    flags: { 'login-app': loginAppId, name },
    run: async ({ 'login-app': login_app_id, name }) => {
      const set = named(loginAppsList, login_app_id, name);
      existing(await updateOwnItem(loginApps.loginAppItem(login_app_id), { set }), 'Login App');
      return { login_app_id, name };
    },
  },
  'login-apps update': {
    summary:
      'Open or close sign-ups: a closed Login App lets in only people who exist; takes up to 30 seconds',
    flags: {
      'login-app': loginAppId,
      'sign-ups': choice(['open', 'closed'], 'Whether people may log in for the first time'),
    },
    run: async ({ 'login-app': login_app_id, 'sign-ups': sign_ups }) => {
      const item = loginApps.loginAppItem(login_app_id);
      existing(await setTimestamp(item, 'sign_ups_closed_at', sign_ups === 'closed'), 'Login App');
      return { login_app_id, sign_ups };
    },
  },
  'login-apps set-guests': {
    summary:
      'Let in guests, who begin without an account, or no more of them; takes up to 30 seconds',
    flags: {
      'login-app': loginApp,
      days: optional(
        count('Days after which a new guest who has linked no identity is gone', [1, 365]),
      ),
      'per-hour': optional(
        count(`New guests in an hour; ${defaultGuestsPerHour} by default`, mostGuests),
      ),
      'per-client-per-hour': optional(
        count(`The same for each client; ${defaultGuestsPerClient} by default`, mostGuests),
      ),
      off: onOff('Let in no more guests; those who exist stay, and may still link an identity'),
    },
    example: '--login-app "$LOGIN_APP" --days 90',
    run: async ({ 'login-app': app, off = false, ...given }) => {
      const { login_app_id } = app;
      const isGiven = Object.values(given).some((value) => value !== undefined);
      if (off && isGiven)
        throw invalid('Give --off alone: without --days, --per-hour and --per-client-per-hour.');
      const guests = off ? undefined : guestRules(app, given);
      const item = loginApps.loginAppItem(login_app_id);
      existing(await updateOwnItem(item, { set: { guests } }), 'Login App');
      return { login_app_id, guests: guests ?? 'off' };
    },
  },
  'login-apps create': {
    summary: 'Create a Login App',
    flags: { name },
    run: ({ name }) => loginApps.createLoginApp(name),
  },
  'login-apps disable': {
    summary:
      'Stop logins and reject all tokens of a Login App until it is enabled; takes up to 30 seconds',
    flags: { 'login-app': loginAppId },
    run: ({ 'login-app': id }) => disable(id, true),
  },
  'login-apps enable': {
    summary: 'Let people use a disabled Login App again',
    flags: { 'login-app': loginAppId },
    run: ({ 'login-app': id }) => disable(id, false),
  },
  'login-apps delete': {
    summary: 'Delete a Login App while nobody can log in, or with all its people and devices',
    example: '--login-app "$LOGIN_APP" --with-everything',
    flags: {
      'login-app': loginApp,
      'with-everything': onOff('Disable it, and delete its people and devices too'),
    },
    run: async ({ 'login-app': app, 'with-everything': withEverything }) => {
      const reason = withEverything ? undefined : await reasonToKeep(app);
      if (reason !== undefined) {
        const message = `The Login App is not deleted: ${reason}. --with-everything deletes its people and devices too.`;
        throw invalid(message);
      }
      return deleteLoginApp(app);
    },
  },
  'login-apps logout': {
    summary: 'End all sessions of a Login App; takes up to 30 seconds',
    flags: { 'login-app': loginAppId },
    run: ({ 'login-app': id }) => endAllSessions(id),
  },
  'login-apps undo-logout': {
    summary: 'Take the latest logout of a Login App back: its sessions go on',
    flags: { 'login-app': loginAppId },
    run: ({ 'login-app': id }) => undoLogout(id),
  },
  'login-apps tokens create': {
    summary: 'Create a long-lived Login App Token to ship inside an app; it is shown only once',
    flags: { 'login-app': loginApp, name },
    files: secretTo,
    run: ({ 'login-app': app, name }) => createLoginAppToken(app.login_app_id, name),
  },
  'login-apps tokens list': {
    summary: 'List the long-lived Login App Tokens of a Login App',
    flags: { 'login-app': loginApp },
    run: async ({ 'login-app': { login_app_id, tokens } }) => ({
      login_app_id,
      tokens: [...tokens.values()].map(tokenShown),
    }),
  },
  'login-apps tokens revoke': {
    summary: 'Revoke a long-lived Login App Token; it stops working within 30 seconds',
    flags: { 'login-app': loginApp, token: id('t_…', 'The token', 'login-apps tokens list') },
    run: async ({ 'login-app': { login_app_id, tokens }, token: token_id }) => {
      existingOf(tokens.keys(), tokens.has(token_id), 'such token');
      await deleteItem(loginAppTokenItem(login_app_id, token_id));
      return { login_app_id, token_id, revoked: true };
    },
  },
});

interface GivenGuestRules {
  days?: number | undefined;
  'per-hour'?: number | undefined;
  'per-client-per-hour'?: number | undefined;
}

/**
 * The rules for guests with those that an operator gives; the others stay.
 * @throws ServiceError if they have had no days yet
 */
function guestRules({ guests }: loginApps.LoginApp, given: GivenGuestRules): GuestRules {
  const days = given.days ?? guests?.days;
  if (days === undefined)
    throw invalid('Give --days: how long a guest who links no identity may live.');
  return {
    days,
    per_hour: given['per-hour'] ?? guests?.per_hour ?? defaultGuestsPerHour,
    per_client_per_hour:
      given['per-client-per-hour'] ?? guests?.per_client_per_hour ?? defaultGuestsPerClient,
  };
}

/**
 * The ways to log in to a Login App, each a row of a table: a provider, who that is, and the
 * parameters of one grant.
 */
const loginsOf = ({ providers }: loginApps.LoginApp) =>
  providerIds.flatMap((id) => {
    const settings = providers.get(id);
    if (!settings) return [];
    const { grants, issuers, ...provider } = offerOf(id, settings);
    const named = issuers.map(({ issuer, nonce }) =>
      nonce === 'required' ? `${issuer} (nonce required)` : issuer,
    );
    return grants.map((grant) => ({ ...provider, ...grant, issuers: named }));
  });

/**
 * A page in Markdown for those who write the app: which provider is which company, and what to
 * send.
 */
function pageOfLogins(app: loginApps.LoginApp): string {
  const lines = loginsOf(app).map((login) => [
    code(login.provider),
    login.companies.map(literal).join(', '),
    protocolOf(login.provider).title,
    code(login.grant_type),
    [...login.required.map(code), ...login.optional.map((name) => `${code(name)} (optional)`)].join(
      ', ',
    ),
    login.issuers.map(literal).join(', '),
  ]);
  const heading = [
    'Provider',
    'Company',
    'Protocol',
    '`grant_type`',
    'Parameters',
    'Issuers of id tokens',
  ];
  return [
    `# How to log in to ${literal(app.name)}`,
    '',
    `Send a form to \`POST ${tokenPath}\`: \`grant_type\`, \`provider\` and the parameters of a row. A server authenticates with its`,
    'client id and client secret (HTTP Basic), or with a client assertion. The client guide of the service has examples.',
    '',
    ...tableOf(heading, lines),
    ...aboutPublicClients(app),
    ...aboutGuests(app),
  ].join('\n');
}

/** The section for those who write an app that is a public client; no lines if there is none. */
function aboutPublicClients(app: loginApps.LoginApp): string[] {
  const publicClients = [...app.clients.values()].filter(
    ({ public_on }) => public_on !== undefined,
  );
  if (publicClients.length === 0) return [];
  const lines = publicClients.flatMap((client) =>
    loginsOfPublicClient(app, client).map(({ provider, grant_type, required }) => [
      code(client.client_id),
      client.public_on ?? '',
      code(provider),
      code(grant_type),
      required.map(code).join(', '),
    ]),
  );
  return [
    '',
    '## From an app without a server',
    '',
    'A public client has no secret, and sends no `Authorization`. It sends',
    '',
    '- `client_id` in the form;',
    '- in the header `DPoP` of each request for tokens, a proof of a key of the phone (RFC 9449). The header `DPoP-Nonce` of each',
    '  answer is the claim `nonce` of the next proof, which a refresh needs;',
    `- with an id token, the \`nonce\` for which it was issued, from \`POST ${noncePath}\`.`,
    '',
    'The quickstarts for phones, a page of the service, have the code.',
    '',
    ...tableOf(['Client', 'Platform', 'Provider', '`grant_type`', 'Required'], lines),
  ];
}

/** The section about people without an account; no lines where no guests are let in. */
function aboutGuests({ guests }: loginApps.LoginApp): string[] {
  if (!guests) return [];
  return [
    '',
    '## Before somebody logs in',
    '',
    `\`grant_type=guest\` begins a guest, without further parameters: up to ${guests.per_hour} in an hour, of whom a client may begin`,
    `${guests.per_client_per_hour}. A guest who links no identity is gone after ${guests.days} days, or when the session ends.`,
  ];
}

/** The ways to log in that a public client may use, each with the parameters that it must send. */
const loginsOfPublicClient = ({ providers }: loginApps.LoginApp, client: LoginAppClient) =>
  providerIds
    .filter((id) => providersOf(client).includes(id))
    .flatMap((provider) => {
      const settings = providers.get(provider);
      if (!settings) return [];
      return offerOf(provider, settings).grants.flatMap((grant) => {
        const required = requiredOfPublicClient(provider, settings, grant);
        return required ? [{ provider, grant_type: grant.grant_type, required }] : [];
      });
    });

/** A table in Markdown. */
const tableOf = (heading: string[], rows: string[][]): string[] =>
  [heading, heading.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);

const code = (name: string): string => `\`${name}\``;

/** Text in Markdown that stands for itself, on one line. */
const literal = (text: string): string =>
  text.replaceAll(/\s+/g, ' ').replaceAll(/[\\`*_[\]<>|#]/g, '\\$&');
