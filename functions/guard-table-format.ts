import { accessOf } from '../lib/http/endpoint.ts';
import { guardTableFormat } from '../lib/release/guard-table-format.ts';

export const access = accessOf({
  summary: 'Stops a deployment that cannot read the table, and notes the format of the table',
  table: { GetItem: ['table_format'], UpdateItem: ['table_format'] },
});

export const handler = guardTableFormat;
