import type { MiddlewareObj, Request } from '@middy/core';
import type { APIGatewayProxyEventV2 as ApiEvent } from 'aws-lambda';
import { idsAmong } from '../log/audit.ts';
import { logAudit } from '../log/log.ts';
import { annotateIds, auditFields } from '../log/request-fields.ts';
import type { Reply } from './answers.ts';
import { type AnyEndpoint, isAudited } from './endpoint.ts';

/** Writes the audit line of a request that may write anything, whatever its outcome. */
export function writeAuditLine(endpoint: AnyEndpoint): MiddlewareObj<ApiEvent, Reply> {
  const write = ({ response }: Request<ApiEvent, Reply>) => {
    if (!isAudited(endpoint)) return;
    const status = (response && 'statusCode' in response && response.statusCode) || 500;
    const result = status < 400 ? 'done' : status < 500 ? 'rejected' : 'failed';
    logAudit({ ...auditFields(), result, status });
  };
  return { before: ({ event }) => annotateIds(idsAmong(event.pathParameters)), after: write, onError: write };
}

/** Notes the ids that the body and the answer name, for the audit line. */
export const annotateIdsOf = ({ body, idIs }: AnyEndpoint): MiddlewareObj<ApiEvent, Reply> => ({
  before: ({ event }) => {
    if (body) annotateIds(idsAmong(event.body));
  },
  after: ({ response }) => {
    const fields: object = Object(response && 'status' in response && response.body);
    annotateIds(idsAmong(idIs && 'id' in fields ? { ...fields, [idIs]: fields.id } : fields));
  },
});
