import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SignatureV4 } from '@smithy/signature-v4';
import { commandHeader, identityQuestion, stsHost } from '../../lib/operator/operator-call.ts';

/** The account of the local stack, which no real one can be. */
export const localAccount = '000000000000';

/** A signer as the SDK's clients have one. Access keys of this machine have any id, and one secret. */
const localSigner = (accessKeyId: string, secretAccessKey: string, region: string, service: string) =>
  new SignatureV4({
    service,
    region,
    credentials: { accessKeyId, secretAccessKey },
    sha256: new LambdaClient({ region }).config.sha256,
  });

const authorizationForm =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([\w;-]+), /;

/**
 * Whether a request is signed with a secret access key. Its body counts by the hash in a header.
 * @see Signature Version 4 signing process
 */
export async function isSigned(
  { method = '', url = '', headers }: IncomingMessage,
  secretAccessKey: string,
): Promise<boolean> {
  const { authorization = '' } = headers;
  const named = authorization.match(authorizationForm);
  if (!named) return false;
  const [, id = '', region = '', service = '', signed = ''] = named;
  const { pathname: path, searchParams } = new URL(url, 'http://localhost');
  const { headers: expected } = await localSigner(id, secretAccessKey, region, service).sign(
    {
      ...{ method, path, protocol: 'http:', hostname: '' },
      query: Object.fromEntries(searchParams),
      headers: Object.fromEntries(signed.split(';').map((name) => [name, String(headers[name])])),
    },
    { signingDate: signingDateOf(String(headers['x-amz-date'])) },
  );
  const [sent, wanted] = [Buffer.from(authorization), Buffer.from(expected.authorization ?? '')];
  return sent.length === wanted.length && timingSafeEqual(sent, wanted);
}

/** 20260131T080000Z as a date. */
const signingDateOf = (text: string): Date =>
  new Date(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));

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
  const signingDate = signingDateOf(query.get('X-Amz-Date') ?? '');
  const { query: expected } = await localSigner(accessKeyId, secretAccessKey, region, 'sts').presign(
    {
      method: 'GET',
      protocol: 'https:',
      hostname,
      path: '/',
      query: { ...identityQuestion },
      headers: { host: hostname, [commandHeader]: String(headers[commandHeader]) },
    },
    { signingDate, expiresIn: Number(query.get('X-Amz-Expires')) },
  );
  if (query.get('X-Amz-Signature') !== expected?.['X-Amz-Signature'])
    return { status: 403, body: '<Error><Code>SignatureDoesNotMatch</Code></Error>' };
  const arn = `arn:aws:iam::${localAccount}:user/${accessKeyId}`;
  return {
    status: 200,
    body: `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>${arn}</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`,
  };
}
