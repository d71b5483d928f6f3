import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SignatureV4 } from '@smithy/signature-v4';
import { presignQuestion } from '../operator/call/call-operator.ts';
import { localAws } from '../operator/call/invoke-function.ts';

/** The account of the local stack: no real one has this id. */
export const localAccount = '000000000000';

const { sha256 } = new LambdaClient({ region: 'us-east-1' }).config;

/** 20260131T080000Z as a date. */
const signingDateOf = (text: unknown): Date =>
  new Date(String(text).replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));

/**
 * Whether a request is signed with a secret access key (Signature Version 4). Its body counts by
 * the hash in a header.
 */
export async function isSigned(
  request: IncomingMessage,
  secretAccessKey: string,
): Promise<boolean> {
  const { method = '', url = '', headers } = request;
  const { authorization = '' } = headers;
  const [, credential, signed = ''] =
    authorization.match(/^AWS4-HMAC-SHA256 Credential=([^,]+), SignedHeaders=([\w;-]+), /) ?? [];
  if (!credential) return false;
  const [accessKeyId = '', , region = '', service = ''] = credential.split('/');
  const credentials = { accessKeyId, secretAccessKey };
  const { pathname: path, searchParams } = new URL(url, 'http://localhost');
  const { headers: expected } = await new SignatureV4({
    service,
    region,
    credentials,
    sha256,
  }).sign(
    {
      method,
      path,
      protocol: 'http:',
      hostname: '',
      query: Object.fromEntries(searchParams),
      headers: Object.fromEntries(signed.split(';').map((name) => [name, String(headers[name])])),
    },
    { signingDate: signingDateOf(headers['x-amz-date']) },
  );
  const sent = Buffer.from(authorization);
  const wanted = Buffer.from(expected.authorization ?? '');
  return sent.length === wanted.length && timingSafeEqual(sent, wanted);
}

/**
 * Answers a presigned GetCallerIdentity with the ARN of a user named as the key; undefined if the
 * signature is wrong.
 */
export async function answerIdentity(
  query: URLSearchParams,
  command: unknown,
  secret_access_key: string,
) {
  const [accessKeyId = ''] = (query.get('X-Amz-Credential') ?? '').split('/');
  const config = localAws({ url: '', secret_access_key }, accessKeyId);
  const signingDate = signingDateOf(query.get('X-Amz-Date'));
  const options = { signingDate, expiresIn: Number(query.get('X-Amz-Expires')) };
  const expected = await presignQuestion(config, String(command), options);
  if (query.get('X-Amz-Signature') !== expected.get('X-Amz-Signature')) return undefined;
  const arn = `arn:aws:iam::${localAccount}:user/${accessKeyId}`;
  return `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>${arn}</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`;
}
