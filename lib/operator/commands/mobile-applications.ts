import { removeMobileApplication, setMobileApplication } from '../../login-apps/mobile-applications.ts';
import { defineCommands } from '../command.ts';
import { existingOf, loginApp, platform, requireLoginApp } from './shared.ts';

export const mobileApplicationCommands = defineCommands({
  'mobile-applications set': {
    summary: 'Allow devices of a platform to register',
    flags: { 'login-app': loginApp, platform },
    run: async ({ 'login-app': id, platform }) => {
      const { login_app_id } = await requireLoginApp(id);
      await setMobileApplication(login_app_id, platform);
      return { login_app_id, platform };
    },
  },
  'mobile-applications remove': {
    summary: 'Stop devices of a platform from registering',
    flags: { 'login-app': loginApp, platform },
    run: async ({ 'login-app': id, platform }) => {
      const { login_app_id, mobileApplications } = await requireLoginApp(id);
      const isSet = mobileApplications.has(platform);
      existingOf(mobileApplications, isSet, `mobile application for ${platform}`);
      await removeMobileApplication(login_app_id, platform);
      return { login_app_id, platform, removed: true };
    },
  },
});
