import { anybody } from '../lib/auth/anybody.ts';
import { okCacheable } from '../lib/http/answers.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { noInput } from '../lib/http/no-input.ts';
import { serverMetadata } from '../lib/tokens/server-metadata.ts';

export const handler = endpoint({
  authenticate: anybody,
  ...noInput,
  handle: async () => okCacheable(serverMetadata(), 3600),
});
