import { guardTableFormat } from '../lib/deployment/guard-table-format.ts';
import { requireEnvironmentInLambda } from '../lib/environment.ts';
import type { Access } from '../lib/http/endpoint.ts';

export const access: Access = {
  summary: 'Stops a deployment that cannot read the table, and notes the format of the table',
  table: { GetItem: ['table_format'], UpdateItem: ['table_format'] },
};

requireEnvironmentInLambda();
export const handler = guardTableFormat;
