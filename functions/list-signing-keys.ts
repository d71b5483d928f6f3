import { anybody } from '../lib/auth/anybody.ts';
import { okCacheable } from '../lib/http/answers.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { noInput } from '../lib/http/no-input.ts';
import { publicKeys } from '../lib/tokens/public-keys.ts';

export const handler = endpoint({
  authenticate: anybody,
  ...noInput,
  handle: async () => okCacheable({ keys: await publicKeys() }, 300),
});
