import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SignatureV4 } from '@smithy/signature-v4';
import { commandHeader, identityQuestion, stsHost } from '../../lib/operator/operator-call.ts';

/** The account of the local stack, which no real one can be. */
export const localAccount = '000000000000';

/** A signer for a credential `ID/DATE/REGION/SERVICE/aws4_request`, of any id: access keys of this machine have one secret. */
function signerOf(credential: string, secretAccessKey: string) {
  const [accessKeyId = '', , region = '', service = ''] = credential.split('/');
  const { sha256 } = new LambdaClient({ region }).config;
  const credentials = { accessKeyId, secretAccessKey };
  return { signer: new SignatureV4({ service, region, credentials, sha256 }), accessKeyId, region };
}

/** 20260131T080000Z as a date. */
const signingDateOf = (text: unknown): Date =>
  new Date(String(text).replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));

/**
 * Whether a request is signed with a secret access key. Its body counts by the hash in a header.
 * @see Signature Version 4 signing process
 */
export async function isSigned(
  { method = '', url = '', headers }: IncomingMessage,
  secretAccessKey: string,
): Promise<boolean> {
  const { authorization = '' } = headers;
  const [, credential, signed = ''] =
    authorization.match(/^AWS4-HMAC-SHA256 Credential=([^,]+), SignedHeaders=([\w;-]+), /) ?? [];
  if (!credential) return false;
  const { pathname: path, searchParams } = new URL(url, 'http://localhost');
  const { headers: expected } = await signerOf(credential, secretAccessKey).signer.sign(
    {
      ...{ method, path, protocol: 'http:', hostname: '' },
      query: Object.fromEntries(searchParams),
      headers: Object.fromEntries(signed.split(';').map((name) => [name, String(headers[name])])),
    },
    { signingDate: signingDateOf(headers['x-amz-date']) },
  );
  const [sent, wanted] = [Buffer.from(authorization), Buffer.from(expected.authorization ?? '')];
  return sent.length === wanted.length && timingSafeEqual(sent, wanted);
}

/**
 * The answer to a presigned GetCallerIdentity request, as XML: whose signature it is. Access keys are named after their users.
 * Without the right signature, there is none.
 */
export async function answerIdentity(
  query: URLSearchParams,
  headers: IncomingHttpHeaders,
  secretAccessKey: string,
): Promise<string | undefined> {
  const { signer, accessKeyId, region } = signerOf(query.get('X-Amz-Credential') ?? '', secretAccessKey);
  const hostname = stsHost(region);
  const { query: expected } = await signer.presign(
    {
      ...{ method: 'GET', protocol: 'https:', hostname, path: '/' },
      query: { ...identityQuestion },
      headers: { host: hostname, [commandHeader]: String(headers[commandHeader]) },
    },
    {
      signingDate: signingDateOf(query.get('X-Amz-Date')),
      expiresIn: Number(query.get('X-Amz-Expires')),
    },
  );
  if (query.get('X-Amz-Signature') !== expected?.['X-Amz-Signature']) return undefined;
  const arn = `arn:aws:iam::${localAccount}:user/${accessKeyId}`;
  return `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>${arn}</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`;
}
