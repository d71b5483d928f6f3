import type { MiddlewareObj } from '@middy/core';
import type { Authentication, RequestHeaders } from '../auth/credentials.ts';
import { note } from '../log/request-fields.ts';

/** Finds out who calls, before the rest of the request is looked at. @throws ServiceError of the scheme */
export const authenticate = <Caller>({
  scheme,
  identify,
}: Authentication<Caller>): MiddlewareObj<{ headers: RequestHeaders; caller: Caller }> => ({
  before: async ({ event }) => {
    event.caller = await identify(event.headers);
    note({ caller: scheme });
  },
});
