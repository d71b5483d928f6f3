import type { Command } from '../command.ts';
import { after, loginApp, loginUser, platform } from './shared-flags.ts';

export const devices = {
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
} as const satisfies Record<string, Command>;
