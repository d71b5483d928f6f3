import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';
import { definedOnly } from '../../../lib/foundation/defined-only.ts';
import { smokeTest } from '../../../lib/release/smoke-test.ts';

/** The result of `probes create`. */
export const probeSchema = v.object({
  issuer: v.string(),
  login_app_id: v.string(),
  client_id: v.string(),
  client_secret: v.string(),
  account_id: v.string(),
  account_secret: v.string(),
  access_request_id: v.number(),
});
type Probe = v.InferOutput<typeof probeSchema>;

const metadataSchema = v.looseObject({
  issuer: v.string(),
  token_endpoint: v.string(),
  jwks_uri: v.string(),
});
/** Milliseconds for which the first rotation is awaited, and between two looks. */
const rotationWait = { patience: 120_000, pause: 2_000 };

/**
 * Uses a deployment as a stranger would, who finds its addresses in the metadata. Stops at the first step without which the
 * next cannot be made.
 * @see RFC 8414, section 3
 */
export async function checkService(own: Probe, waiting = rotationWait): Promise<Step[]> {
  const steps: Step[] = [];
  const taken = <Body>({ step, body }: { step: Step; body: Body }): Body => {
    steps.push(step);
    return body;
  };
  const about = taken(
    await ask({
      step: 'metadata',
      url: `${own.issuer}/.well-known/oauth-authorization-server`,
      status: 200,
      body: metadataSchema,
    }),
  );
  if (!about) return steps;
  const { origin } = new URL(own.issuer);
  for (const url of [about.jwks_uri, about.token_endpoint]) {
    if (URL.parse(url)?.origin === origin) continue;
    addProblem(
      steps,
      `The metadata leads away from ${origin}. The check goes no further, since it would send a secret there.`,
    );
    return steps;
  }
  if (about.issuer !== own.issuer) addProblem(steps, `The issuer is ${about.issuer}, not ${own.issuer}.`);
  const events = `${own.issuer}/v1/rbac/access_requests/${own.access_request_id}/events`;
  const urls = { 'signing keys': about.jwks_uri, token: about.token_endpoint, search: events };
  await smokeTest(
    {
      issuer: own.issuer,
      loginAppId: own.login_app_id,
      client: { id: own.client_id, secret: own.client_secret },
      account: { id: own.account_id, secret: own.account_secret },
    },
    async ({ step, headers = {}, form, body }) => {
      const init = { headers, ...(form && { method: 'POST', body: new URLSearchParams(form) }) };
      return taken(await askUntilKeys({ step, url: urls[step], init, status: 200, body }, waiting));
    },
    (problem) => addProblem(steps, problem),
  );
  if (steps.at(-1)?.step === 'signing keys') return steps;
  const error = v.looseObject({ error: v.string() });
  taken(await ask({ step: 'search without credentials', url: events, status: 401, body: error }));
  if (steps.at(-1)?.status === 401 && !challengeIn(steps.at(-1)))
    addProblem(
      steps,
      'The 401 has no WWW-Authenticate header, under no name: something in front of the service drops it.',
    );
  return steps;
}

/** Under whichever name the challenge arrives; API Gateway renames the header in some of its API types. */
const challengeIn = (step: Step | undefined): [string, string] | undefined =>
  Object.entries(step?.headers ?? {}).find(([name]) => /(^|-)www-authenticate$/i.test(name));

function addProblem(steps: Step[], problem: string): void {
  const step = steps.at(-1);
  if (step) step.problem ??= problem;
}

const noKeysSchema = v.object({ keys: v.strictTuple([]) });

/** Sends a request again while its answer is an empty key set: the first rotation takes a while. */
async function askUntilKeys<Schema extends v.GenericSchema>(
  question: TestRequest<Schema>,
  { patience, pause }: typeof rotationWait,
) {
  const deadline = Date.now() + patience;
  for (;;) {
    const answer = await ask(question);
    if (!v.is(noKeysSchema, answer.body)) return answer;
    const problem = `There was no key after ${patience / 1000} seconds: read the log of rotate-signing-keys.`;
    if (Date.now() > deadline) return { step: { ...answer.step, problem }, body: undefined };
    await wait(pause);
  }
}

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
interface TestRequest<Schema extends v.GenericSchema> {
  step: string;
  url: string;
  init?: RequestInit;
  status: number;
  body: Schema;
}

/** Milliseconds: API Gateway answers within 30 s. */
const patience = 30_000;

/** Sends a request. The body is undefined when there is a problem. */
async function ask<Schema extends v.GenericSchema>({
  step,
  url,
  init = {},
  ...expected
}: TestRequest<Schema>): Promise<{ step: Step; body: v.InferOutput<Schema> | undefined }> {
  const begun = performance.now();
  const report = ({ status, ...seen }: Partial<Step>): Step => ({
    step,
    request: `${init.method ?? 'GET'} ${url}`,
    ...definedOnly({ status }),
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
