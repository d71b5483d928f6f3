import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The chief file of each room, from the top of the house to its ground. It opens with a paragraph about the room. */
const chiefFiles = [
  'functions/issue-token.ts',
  'infra/app.ts',
  'lib/operator/operate.ts',
  'lib/release/check-new-versions.ts',
  'lib/http/serve.ts',
  'lib/tokens/issue-token.ts',
  'lib/people/sessions/session.ts',
  'lib/publishing/publish-records.ts',
  'lib/providers/providers.ts',
  'lib/devices/device.ts',
  'lib/login-apps/login-app.ts',
  'lib/signing/key-set.ts',
  'lib/access-requests/access-request.ts',
  'lib/login-users/login-user.ts',
  'lib/secrets/service-secret.ts',
  'lib/log/log.ts',
  'lib/storage/items.ts',
  'lib/schema/validation.ts',
  'lib/foundation/service-error.ts',
];

/** The rows of the table of rooms: each folder, and the paragraph that its chief file opens with. */
export const roomRows = (root: string): string[][] =>
  chiefFiles.map((file) => {
    const [folder = ''] = /^(lib\/)?[^/]+/.exec(dirname(file)) ?? [];
    const [paragraph = ''] = readFileSync(join(root, file), 'utf8').split('\n\n');
    if (!paragraph.startsWith('// '))
      throw new Error(`${file} doesn't open with a paragraph about its room.`);
    return [`\`${folder}/\``, paragraph.replaceAll(/^\/\/ ?/gm, '').replaceAll('\n', ' ')];
  });
