import { createHash } from 'node:crypto';
import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEventV2 as ApiEvent } from 'aws-lambda';
import { directInvocation } from '../foundation/direct-invocation.ts';
import { optionalEnvironment } from '../foundation/environment.ts';
import { type ErrorRecord, ServiceError } from '../foundation/service-error.ts';
import { annotateLog } from '../log/request-fields.ts';
import { equalInConstantTime } from '../secrets/secrets.ts';

export const originSecretHeader = 'x-origin-secret';

/**
 * The header with the client's address.
 * @see Amazon CloudFront developer guide, "Add CloudFront request headers"
 */
export const viewerAddressHeader = 'CloudFront-Viewer-Address';

const wrongAddress = 'Send requests to the public address of the service.';

export const originError: ErrorRecord = {
  when: 'The request did not come through the public address of the service, and this deployment demands it.',
  example: wrongAddress,
};

/**
 * Rejects a request without the origin secret, if there is one. `ORIGIN_SECRET_HASHES` holds its
 * SHA-256 in hex and, after a comma, that of a second one during a rotation.
 * @throws ServiceError `forbidden`
 */
export const requireOriginSecret: MiddlewareObj<ApiEvent> = {
  before: ({ event: { headers, requestContext } }) => {
    if (requestContext.apiId === directInvocation) return;
    const hashes = optionalEnvironment('ORIGIN_SECRET_HASHES')?.split(',');
    if (hashes === undefined) return;
    const secret = headers[originSecretHeader];
    const sent = secret ? createHash('sha256').update(secret).digest('hex') : '';
    const matches = hashes.map((hash) => equalInConstantTime(sent, hash));
    if (!secret || !matches.includes(true))
      throw new ServiceError('forbidden', wrongAddress, 'origin_secret_wrong');
    // Only the deployment's own edge is known to set this header.
    if (optionalEnvironment('VIEWER_ADDRESS') === 'trusted')
      annotateLog(addressIn(headers[viewerAddressHeader.toLowerCase()]));
  },
};

/**
 * The address without its port: `198.51.100.7:443` is 198.51.100.7, `2001:db8::7:443` is
 * 2001:db8::7.
 */
function addressIn(value = ''): { source_ip?: string } {
  const [, address] = /^([\d.]{7,15}|[\da-f:]{2,39}):\d{1,5}$/i.exec(value) ?? [];
  return address === undefined ? {} : { source_ip: address };
}
