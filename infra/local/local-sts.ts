import type { IncomingHttpHeaders } from 'node:http';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SignatureV4 } from '@smithy/signature-v4';
import { commandHeader, identityQuestion, stsHost } from '../../lib/operator/identity-request.ts';

/** The account of the local stack, which no real one can be. */
export const localAccount = '000000000000';

/**
 * Answers a presigned GetCallerIdentity request: whose signature it is. Access keys are named after their users, and all
 * have the secret `local`.
 */
export async function answerIdentity(
  query: URLSearchParams,
  headers: IncomingHttpHeaders,
): Promise<{ status: number; body: string }> {
  const [accessKeyId = '', , region = ''] = (query.get('X-Amz-Credential') ?? '').split('/');
  const hostname = stsHost(region);
  const signer = new SignatureV4({
    service: 'sts',
    region,
    credentials: { accessKeyId, secretAccessKey: 'local' },
    sha256: new LambdaClient({ region }).config.sha256,
  });
  const expected = await signer.presign(
    {
      method: 'GET',
      protocol: 'https:',
      hostname,
      path: '/',
      query: { ...identityQuestion },
      headers: { host: hostname, [commandHeader]: String(headers[commandHeader]) },
    },
    { signingDate: dateOf(query.get('X-Amz-Date') ?? ''), expiresIn: Number(query.get('X-Amz-Expires')) },
  );
  if (query.get('X-Amz-Signature') !== expected.query?.['X-Amz-Signature'])
    return { status: 403, body: '<Error><Code>SignatureDoesNotMatch</Code></Error>' };
  const arn = `arn:aws:iam::${localAccount}:user/${accessKeyId}`;
  return {
    status: 200,
    body: `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>${arn}</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`,
  };
}

/** 20260131T080000Z as a date. */
const dateOf = (text: string): Date =>
  new Date(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
