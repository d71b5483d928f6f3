import {
  createLoginAppToken,
  revokeLoginAppToken,
  type StoredLoginAppToken,
} from '../../login-apps/login-app-tokens.ts';
import { defineCommand } from '../command.ts';
import { id } from '../flags.ts';
import { existingOf, requireLoginApp } from './existing.ts';
import { loginApp, name, secretTo } from './shared-flags.ts';

export const tokenShown = ({ token_id, name, created_at }: StoredLoginAppToken) => ({
  token_id,
  name,
  created_at,
});

export const loginAppTokenCommands = [
  defineCommand({
    words: 'login-apps tokens create',
    summary: 'Create a long-lived Login App Token to ship inside an app; it is shown only once',
    flags: { 'login-app': loginApp, name },
    files: secretTo,
    run: async ({ 'login-app': id, name }) => {
      const { login_app_id } = await requireLoginApp(id);
      return { login_app_id, ...(await createLoginAppToken(login_app_id, name)) };
    },
  }),
  defineCommand({
    words: 'login-apps tokens list',
    summary: 'List the long-lived Login App Tokens of a Login App',
    flags: { 'login-app': loginApp },
    run: async ({ 'login-app': id }) => {
      const { login_app_id, tokens } = await requireLoginApp(id);
      return { login_app_id, tokens: [...tokens.values()].map(tokenShown) };
    },
  }),
  defineCommand({
    words: 'login-apps tokens revoke',
    summary: 'Revoke a long-lived Login App Token; it stops working within 30 seconds',
    flags: { 'login-app': loginApp, token: id('t_…', 'The token', 'login-apps tokens list') },
    run: async ({ 'login-app': id, token: token_id }) => {
      const { login_app_id, tokens } = await requireLoginApp(id);
      existingOf(tokens.keys(), tokens.has(token_id), 'such token');
      await revokeLoginAppToken(login_app_id, token_id);
      return { login_app_id, token_id, revoked: true };
    },
  }),
];
