import * as v from 'valibot';
import { anybody } from '../lib/auth/anybody.ts';
import { okCacheable } from '../lib/http/answers.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { parsePathAndQuery } from '../lib/http/parsing.ts';
import { serverMetadata } from '../lib/tokens/server-metadata.ts';
import { refuseAsInvalidRequest } from '../lib/validation.ts';

export const handler = endpoint({
  authenticate: anybody,
  parse: parsePathAndQuery,
  input: v.unknown(),
  refuse: refuseAsInvalidRequest,
  handle: async () => okCacheable(serverMetadata(), 3600),
});
