import type { IncomingHttpHeaders } from 'node:http';
import { commandHeader, identityQuestion, stsHost } from '../../lib/operator/operator-call.ts';
import { localSigner, signingDateOf } from './signature.ts';

/** The account of the local stack, which no real one can be. */
export const localAccount = '000000000000';

/**
 * Answers a presigned GetCallerIdentity request: whose signature it is. Access keys are named after their users, and all
 * have the same secret.
 */
export async function answerIdentity(
  query: URLSearchParams,
  headers: IncomingHttpHeaders,
  secretAccessKey: string,
): Promise<{ status: number; body: string }> {
  const [accessKeyId = '', , region = ''] = (query.get('X-Amz-Credential') ?? '').split('/');
  const hostname = stsHost(region);
  const expected = await localSigner(accessKeyId, secretAccessKey, region, 'sts').presign(
    {
      method: 'GET',
      protocol: 'https:',
      hostname,
      path: '/',
      query: { ...identityQuestion },
      headers: { host: hostname, [commandHeader]: String(headers[commandHeader]) },
    },
    {
      signingDate: signingDateOf(query.get('X-Amz-Date') ?? ''),
      expiresIn: Number(query.get('X-Amz-Expires')),
    },
  );
  if (query.get('X-Amz-Signature') !== expected.query?.['X-Amz-Signature'])
    return { status: 403, body: '<Error><Code>SignatureDoesNotMatch</Code></Error>' };
  const arn = `arn:aws:iam::${localAccount}:user/${accessKeyId}`;
  return {
    status: 200,
    body: `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>${arn}</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`,
  };
}
