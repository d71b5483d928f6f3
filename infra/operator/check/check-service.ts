import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';
import { smokeTest } from '../../../lib/release/smoke-test.ts';
import { ask, type Step, type TestRequest } from './request.ts';

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
