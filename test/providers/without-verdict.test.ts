import { describe, expect, test } from '@jest/globals';
import { expectAnswer, expectError } from '../support/expectations.ts';
import { logLine } from '../support/log-lines.ts';
import { newPerson } from '../support/people.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { prepareLogin, type Target, targets } from '../support/provider-targets.ts';
import { sharedLog, sharedService } from '../support/service.ts';

const service = sharedService();
const running = sharedLog();
const standIn = await startProviderStandIn();

/** A login at which an endpoint of the provider answers with a status. */
async function logInWhen(target: Target, status: number) {
  const scene = standIn.openScene();
  scene.answer(target.endpoint, { status, body: { error: 'something_else' } });
  const { form, app } = await prepareLogin(service, scene, target);
  return { answer: await service.token(form, app), form, app, scene };
}

const { discovery, keys, ...ofCredentials } = targets;
const asked: Target[] = Object.values(ofCredentials);

/**
 * Anybody with made-up credentials can make a provider answer so: no new version is taken back for
 * it.
 */
describe.each(asked)('a provider that answers a credential without a verdict: $name', (target) => {
  test('404: a 400 that says so', async () => {
    const { answer } = await logInWhen(target, 404);
    const naming = 'The identity provider did not say whether it accepts this credential.';
    expectError(answer, { status: 400, error: 'invalid_grant', naming });
  });

  test('429: a 429 that says when to try again', async () => {
    const { answer } = await logInWhen(target, 429);
    const naming = 'The identity provider takes no more requests now. Try again later.';
    expectError(answer, { status: 429, error: 'too_many_requests', naming });
    expect(answer.headers.get('retry-after')).toBe('60');
  });

  test('503: a 500', async () => {
    const { answer } = await logInWhen(target, 503);
    expectError(answer, { status: 500, error: 'internal_server_error' });
  });
});

test.each<Target>([discovery, keys])('an issuer without keys is a 500: $name', async (target) => {
  const { answer } = await logInWhen(target, 404);
  expectError(answer, { status: 500, error: 'internal_server_error' });
});

test('the log has the address and the status of what gave no verdict', async () => {
  const { answer } = await logInWhen(targets.introspection, 404);
  const request_id = answer.headers.get('x-request-id');
  const line = await logLine(running, 'provider_gave_no_verdict', { request_id });
  const message = expect.stringMatching(/^unexpected_answer: http:.*\/introspection \(404\)$/);
  expect(line).toMatchObject({ level: 'ERROR', failure: { code: 'unexpected_answer', message } });
  const refused = await logLine(running, 'token_refused', { request_id });
  expect(refused).toMatchObject({ reason: 'provider_gave_no_verdict' });
});

test('a person who links counts it as a rejected credential: after ten, the provider is not asked', async () => {
  const person = await newPerson(service);
  const scene = standIn.openScene();
  const provider = 'provider_e';
  const settings = targets.introspection.settings((endpoint) => `${scene.url}/${endpoint}`);
  await service.setProvider(service.demo.login_app, provider, { ...settings, namespace: 'scene' });
  scene.answer('introspection', { status: 404 });
  const link = () => person.account.link({ provider, access_token: 'made-up' });
  for (let times = 0; times < 10; times += 1)
    expectError(await link(), { status: 400, error: 'invalid_grant' });
  const before = scene.calls('introspection');
  expectError(await link(), { status: 429, error: 'too_many_requests' });
  expect(scene.calls('introspection')).toBe(before);
});

test('the same login passes once the provider answers', async () => {
  const { scene, form, app } = await logInWhen(targets.userInfo, 429);
  scene.behave();
  expectAnswer(await service.token(form, app), 200, expect.anything());
});
