import { setProviderSettings } from '../../login-apps/manage-login-app.ts';
import { checkSettings } from '../../providers/settings.ts';
import { maskSecrets } from '../../providers/settings-encryption.ts';
import { Refusal } from '../../refusal.ts';
import type { CommandsOf } from '../operate.ts';
import { requireLoginApp } from './login-apps.ts';

export const providerCommands: CommandsOf<'providers'> = {
  set: async ({ 'login-app': id, provider, settings }) => {
    const { login_app_id } = await requireLoginApp(id);
    const checked = checkSettings(provider, settings);
    if ('problems' in checked) {
      throw new Refusal(
        'invalid_request',
        `The settings of ${provider} are refused: ${checked.problems.join('; ')}.`,
      );
    }
    await setProviderSettings(login_app_id, provider, checked.settings);
    return { login_app_id, provider, settings: maskSecrets(checked.settings) };
  },
  show: async ({ 'login-app': id, provider }) => {
    const { login_app_id, providers } = await requireLoginApp(id);
    const shown = [...providers].filter(([name]) => provider === undefined || name === provider);
    return {
      login_app_id,
      providers: Object.fromEntries(shown.map(([name, settings]) => [name, maskSecrets(settings)])),
    };
  },
};
