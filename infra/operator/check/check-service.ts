import * as v from 'valibot';
import {
  basic,
  keySetSchema,
  type Probe,
  searchProblem,
  searchSchema,
  tokenProblem,
  tokenSchema,
} from '../../../lib/release/smoke-test.ts';

const metadataSchema = v.looseObject({
  issuer: v.string(),
  token_endpoint: v.string(),
  jwks_uri: v.string(),
});

/** A call of the service in the report. */
export interface Step {
  step: string;
  request: string;
  /** Undefined without a response. */
  status?: number | undefined;
  milliseconds: number;
  headers?: Record<string, string>;
  problem?: string | undefined;
}

/**
 * Uses a deployment as a stranger who finds its addresses in the metadata, as far as it works.
 * @see RFC 8414, section 3
 */
export async function checkService(own: Probe): Promise<Step[]> {
  const steps: Step[] = [];
  const addProblem = (problem: string | undefined): void => {
    const last = steps.at(-1);
    if (last) last.problem ??= problem;
  };
  const metadataUrl = `${own.issuer}/.well-known/oauth-authorization-server`;
  const about = await take(steps, { step: 'metadata', url: metadataUrl, body: metadataSchema });
  if (!about) return steps;
  const { origin } = new URL(own.issuer);
  if ([about.jwks_uri, about.token_endpoint].some((url) => URL.parse(url)?.origin !== origin)) {
    addProblem(
      `The metadata leads away from ${origin}. The check goes no further, since it would send a secret there.`,
    );
    return steps;
  }
  if (about.issuer !== own.issuer) addProblem(`The issuer is ${about.issuer}, not ${own.issuer}.`);
  const set = await take(steps, { step: 'signing keys', url: about.jwks_uri, body: keySetSchema });
  if (!set) return steps;
  if (set.keys.length === 0) {
    addProblem('There is no key: read the log of rotate-signing-keys.');
    return steps;
  }
  const url = about.token_endpoint;
  const init = {
    method: 'POST',
    headers: { authorization: basic(own.client_id, own.client_secret) },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  };
  const token = await take(steps, { step: 'token', url, init, body: tokenSchema });
  addProblem(token && (await tokenProblem(token, set, own)));
  const events = `${own.issuer}/v1/rbac/access_requests/${own.access_request_id}/events`;
  const ofAccount = { headers: { authorization: basic(own.account_id, own.account_secret) } };
  const found = await take(steps, {
    step: 'search',
    url: events,
    init: ofAccount,
    body: searchSchema,
  });
  addProblem(found && searchProblem(found));
  const error = v.looseObject({ error: v.string() });
  await take(steps, { step: 'search without credentials', url: events, status: 401, body: error });
  const { status, headers = {} } = steps.at(-1) ?? {};
  // API Gateway renames the header in some of its API types.
  if (status === 401 && !Object.keys(headers).some((name) => /(^|-)www-authenticate$/i.test(name)))
    addProblem(
      'The 401 has no WWW-Authenticate header, under no name: something in front of the service drops it.',
    );
  return steps;
}

/** Milliseconds within which the service must answer: API Gateway does within 30 s. */
const answerMilliseconds = 30_000;

/**
 * Sends a request and adds its step.
 * @returns the body; undefined after a problem
 */
async function take<Schema extends v.GenericSchema>(
  steps: Step[],
  wanted: { step: string; url: string; init?: RequestInit; status?: number; body: Schema },
): Promise<v.InferOutput<Schema> | undefined> {
  const { step, url, init = {}, status: expected = 200 } = wanted;
  const request = `${init.method ?? 'GET'} ${url}`;
  const taken: Step = { step, request, status: undefined, milliseconds: 0 };
  steps.push(taken);
  const begun = performance.now();
  try {
    const response = await fetch(url, {
      ...init,
      signal: AbortSignal.timeout(answerMilliseconds),
      redirect: 'manual',
    });
    const text = await response.text();
    const { status } = response;
    Object.assign(taken, { status, headers: Object.fromEntries(response.headers) });
    const body = v.safeParse(v.pipe(v.string(), v.parseJson(), wanted.body), text);
    if (status !== expected) taken.problem = explainStatus(status, expected, text);
    else if (body.success) return body.output;
    else taken.problem = 'The response is not what this version of the service sends.';
  } catch (error) {
    taken.problem = explainNetwork(error, new URL(url));
  } finally {
    taken.milliseconds = Math.round(performance.now() - begun);
  }
  return undefined;
}

const serviceErrorSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ error_description: v.string() }),
);

function explainStatus(status: number, expected: number, text: string): string {
  const error = v.safeParse(serviceErrorSchema, text);
  const said = error.success ? ` The service says: ${error.output.error_description}` : '';
  const general = `The status is ${status} instead of ${expected}.${said}`;
  if (status === 403 && error.success)
    return `${general} If originSecretHashes is set, CloudFront doesn't add the secret that belongs to it.`;
  if (status === 403) return `${general} CloudFront or AWS WAF may have rejected the request.`;
  if (status === 404 && !error.success)
    return `${general} Another service answers at this address.`;
  if (status === 429) return `${general} The route is throttled: look at its rate limit.`;
  if (status === 503) return `${general} Read the log of rotate-signing-keys.`;
  if (status >= 500) return `${general} Look for request_failed in the logs of the functions.`;
  return general;
}

function explainNetwork(error: unknown, { hostname }: URL): string {
  const { name, cause }: { name?: string; cause?: { code?: string } } = Object(error);
  const code = cause?.code ?? name ?? 'unknown';
  if (code === 'ENOTFOUND')
    return `${hostname} has no DNS record: point one at the output DomainTarget.`;
  if (code === 'TimeoutError')
    return `${hostname} didn't answer within ${answerMilliseconds / 1000} seconds.`;
  if (/CERT|TLS|SSL/.test(code))
    return `The certificate of ${hostname} is not valid for it (${code}).`;
  return `${hostname} can't be reached (${code}).`;
}
