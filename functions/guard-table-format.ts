import { accessOf } from '../lib/http/endpoint.ts';
import { type Invocation, withInvocation } from '../lib/log/request-fields.ts';
import { guardTableFormat } from '../lib/release/guard-table-format.ts';

export const access = accessOf({
  summary: 'Stops a deployment that must not begin, and notes the format of the table',
  table: { table_format: ['GetItem', 'UpdateItem'] },
  seconds: 30,
});

export const handler = (event: unknown, invocation: Invocation): Promise<void> =>
  withInvocation(invocation, () => guardTableFormat(event));
