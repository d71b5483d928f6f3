import { requireEnvironmentInLambda } from '../lib/environment.ts';
import type { Access } from '../lib/http/endpoint.ts';
import { operate } from '../lib/operator/operate.ts';

export const access: Access = {
  summary: 'Carries out the commands of the operator',
  tableActions: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
  secrets: ['service-secret'],
};

requireEnvironmentInLambda();
export const handler = operate;
