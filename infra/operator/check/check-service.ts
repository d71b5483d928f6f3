import { setTimeout as wait } from 'node:timers/promises';
import { createLocalJWKSet, jwtVerify } from 'jose';
import * as v from 'valibot';
import { tokenAlgorithms } from '../../../lib/signing-keys/token-algorithm.ts';
import { ask, type Step } from './ask.ts';

/** What `probes create` returns. */
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
const keySetSchema = v.object({ keys: v.array(v.looseObject({ kty: v.string(), kid: v.string() })) });

/** Milliseconds for which the first rotation is awaited, and between two looks. */
const rotationWait = { patience: 120_000, pause: 2_000 };

const basic = (id: string, secret: string): { authorization: string } => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});

/**
 * Uses a deployment as a stranger would: finds its addresses in the metadata, issues a token, verifies it with the
 * published keys, and searches. Stops at the first step without which the next cannot be made.
 * @see RFC 8414, section 3; RFC 9068, section 4
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
  if (about.issuer !== own.issuer) addProblem(steps, `The issuer is ${about.issuer}, not ${own.issuer}.`);
  const keys = taken(await keysOf(about.jwks_uri, waiting));
  if (!keys) return steps;
  const token = taken(
    await ask({
      step: 'token',
      url: about.token_endpoint,
      init: {
        method: 'POST',
        headers: basic(own.client_id, own.client_secret),
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      },
      status: 200,
      body: v.looseObject({ access_token: v.string() }),
    }),
  );
  if (token) await verify(token.access_token, keys, own).catch(() => addProblem(steps, unverifiable));
  const events = `${own.issuer}/v1/rbac/access_requests/${own.access_request_id}/events`;
  const found = taken(
    await ask({
      step: 'search',
      url: events,
      init: { headers: basic(own.account_id, own.account_secret) },
      status: 200,
      body: v.looseObject({ results: v.array(v.unknown()) }),
    }),
  );
  if (found && found.results.length > 0) addProblem(steps, 'The search found events that nobody wrote.');
  taken(
    await ask({
      step: 'search without credentials',
      url: events,
      status: 401,
      body: v.looseObject({ error: v.string() }),
    }),
  );
  if (steps.at(-1)?.status === 401 && !challengeIn(steps.at(-1)))
    addProblem(
      steps,
      'The 401 has no WWW-Authenticate header, under no name: something in front of the service drops it.',
    );
  return steps;
}

const unverifiable =
  'The token cannot be verified with the published keys, the issuer and the audience: verifiers reject it.';

/** Under whichever name the challenge arrives; API Gateway renames the header in some of its API types. */
const challengeIn = (step: Step | undefined): [string, string] | undefined =>
  Object.entries(step?.headers ?? {}).find(([name]) => /(^|-)www-authenticate$/i.test(name));

function addProblem(steps: Step[], problem: string): void {
  const step = steps.at(-1);
  if (step) step.problem ??= problem;
}

/** The published keys, as soon as there are any. */
async function keysOf(url: string, { patience, pause }: typeof rotationWait) {
  const deadline = Date.now() + patience;
  for (;;) {
    const answer = await ask({ step: 'signing keys', url, status: 200, body: keySetSchema });
    if (!answer.body || answer.body.keys.length > 0) return answer;
    const problem = `There was no key after ${patience / 1000} seconds: read the log of rotate-signing-keys.`;
    if (Date.now() > deadline) return { step: { ...answer.step, problem }, body: undefined };
    await wait(pause);
  }
}

const verify = (token: string, keys: v.InferOutput<typeof keySetSchema>, { issuer, login_app_id }: Probe) =>
  jwtVerify(token, createLocalJWKSet(keys), {
    issuer,
    audience: login_app_id,
    typ: 'at+jwt',
    algorithms: [...tokenAlgorithms],
  });
