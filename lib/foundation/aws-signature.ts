import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';

export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}

/**
 * An invocation that does not run the function: Lambda says whether the caller may invoke it.
 * @see AWS Lambda API reference, `Invoke`
 */
export type InvocationType = 'DryRun';

/** The signed parts of a POST. */
export interface SignedParts {
  host: string;
  /** With each segment encoded. */
  path: string;
  contentType: string;
  /** The operation in a JSON protocol: `DynamoDB_20120810.GetItem` */
  target?: string;
  /**
   * How Lambda invokes a function.
   * @default it runs, and the caller waits
   */
  invocationType?: InvocationType | undefined;
  body: string;
  time: Date;
}

/**
 * Signs requests to a service of AWS, with a key that is made once a day or for other credentials.
 * @param service as in the scope of a signature: `dynamodb`
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function requestSigner(region: string, service: string) {
  let latest: { secret: string; scope: string; key: KeyObject } | undefined;

  function signingKey(secret: string, scope: string): KeyObject {
    if (latest?.secret === secret && latest.scope === scope) return latest.key;
    let key = createSecretKey(`AWS4${secret}`, 'utf8');
    for (const part of scope.split('/')) key = createSecretKey(hmac(key, part).digest());
    latest = { secret, scope, key };
    return key;
  }

  return (parts: SignedParts, { accessKeyId, secretAccessKey, sessionToken }: Credentials) => {
    const time = parts.time.toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
    const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
    const payload = sha256(parts.body);
    // In the order of their names.
    const signed: Record<string, string> = {
      'content-type': parts.contentType,
      host: parts.host,
      'x-amz-content-sha256': payload,
      'x-amz-date': time,
      ...(parts.invocationType && { 'x-amz-invocation-type': parts.invocationType }),
      ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
      ...(parts.target !== undefined && { 'x-amz-target': parts.target }),
    };
    const names = Object.keys(signed).join(';');
    const headers = Object.entries(signed).map(([name, value]) => `${name}:${value}`);
    const path = parts.path.split('/').map(encodeURIComponent).join('/');
    const query = '';
    // A blank line ends the headers.
    const canonicalRequest = ['POST', path, query, ...headers, '', names, payload].join('\n');
    const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonicalRequest)].join('\n');
    const signature = hmac(signingKey(secretAccessKey, scope), text).digest('hex');
    const credential = `Credential=${accessKeyId}/${scope}`;
    return {
      ...signed,
      'content-length': String(Buffer.byteLength(parts.body)),
      authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names}, Signature=${signature}`,
    };
  };
}

const hmac = (key: KeyObject, text: string) => createHmac('sha256', key).update(text);
const sha256 = (text: string): string => hash('sha256', text, 'hex');
