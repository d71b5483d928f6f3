import * as v from 'valibot';

/** A call of the service, as the check reports it. */
export interface Step {
  step: string;
  /** `GET https://…` */
  request: string;
  /** Undefined without a response. */
  status?: number;
  milliseconds: number;
  headers?: Record<string, string>;
  /** The fault in plain words. */
  problem?: string;
}

/** A request, and what must come of it. */
export interface TestRequest<Schema extends v.GenericSchema> {
  step: string;
  url: string;
  init?: RequestInit;
  status: number;
  body: Schema;
}

/** Milliseconds: API Gateway answers within 30 s. */
const patience = 30_000;

/** Sends a request. The body is undefined when there is a problem. */
export async function ask<Schema extends v.GenericSchema>({
  step,
  url,
  init = {},
  ...expected
}: TestRequest<Schema>): Promise<{ step: Step; body: v.InferOutput<Schema> | undefined }> {
  const begun = performance.now();
  const report = ({ status, ...seen }: Partial<Step>): Step => ({
    step,
    request: `${init.method ?? 'GET'} ${url}`,
    ...(status !== undefined && { status }),
    milliseconds: Math.round(performance.now() - begun),
    ...seen,
  });
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(patience), redirect: 'manual' });
    const text = await response.text();
    const { status } = response;
    const reported = report({ status, headers: Object.fromEntries(response.headers) });
    const body = v.safeParse(v.pipe(v.string(), v.parseJson(), expected.body), text);
    if (status === expected.status && body.success) return { step: reported, body: body.output };
    const problem =
      status === expected.status
        ? 'The response is not what this version of the service sends.'
        : explainStatus(status, expected.status, text);
    return { step: { ...reported, problem }, body: undefined };
  } catch (error) {
    return { step: report({ problem: explainNetwork(error, new URL(url)) }), body: undefined };
  }
}

const serviceErrorSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ error: v.string(), error_description: v.string() }),
);

function explainStatus(status: number, expected: number, text: string): string {
  const error = v.safeParse(serviceErrorSchema, text);
  const said = error.success ? ` The service says: ${error.output.error_description}` : '';
  const general = `The status is ${status} instead of ${expected}.${said}`;
  if (status === 403 && error.success)
    return `${general} If originSecretHashes is set, CloudFront doesn't add the secret that belongs to it.`;
  if (status === 403) return `${general} CloudFront or AWS WAF may have rejected the request.`;
  if (status === 404 && !error.success) return `${general} Another service answers at this address.`;
  if (status === 429) return `${general} The route is throttled: look at its rate limit.`;
  if (status === 503) return `${general} Read the log of rotate-signing-keys.`;
  if (status >= 500) return `${general} Look for request_failed in the logs of the functions.`;
  return general;
}

/** Explanations of what `fetch` throws, by the code of its cause. */
function explainNetwork(error: unknown, { hostname }: URL): string {
  const { name, cause }: { name?: string; cause?: { code?: string } } = Object(error);
  const code = cause?.code ?? name ?? 'unknown';
  if (code === 'ENOTFOUND') return `${hostname} has no DNS record: point one at the output DomainTarget.`;
  if (code === 'TimeoutError') return `${hostname} didn't answer within ${patience / 1000} seconds.`;
  if (/CERT|TLS|SSL/.test(code)) return `The certificate of ${hostname} is not valid for it (${code}).`;
  return `${hostname} can't be reached (${code}).`;
}
