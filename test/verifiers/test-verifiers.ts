import assert from 'node:assert/strict';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { tokenAlgorithms } from '../../lib/signing/settings.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { serviceOf } from '../support/service.ts';
import { startService } from '../support/start-service.ts';
import { countedChecks, runCheck, step } from '../support/steps.ts';
import { casesOf } from './cases.ts';
import {
  envoy,
  express,
  go,
  installPythonPackages,
  java,
  lintTemplates,
  python,
  type Verify,
  verdictsAround,
} from './programs.ts';

/** The name of the verifier that wants a recent login, and its verdict about an older one. */
const recentLogin = 'jose, in Express, with a recent login';
const stepUp = /^rejected: 401 Bearer error="insufficient_user_authentication", max_age=900$/;

/**
 * Has the recipes of `docs/verifying-tokens.md` judge tokens of the service on this machine, with
 * each algorithm.
 */
runCheck(async () => {
  await requireTools([tools.python, tools.jdk, tools.maven]);
  const commands = await step('Install PyJWT, Envoy, Go and cfn-lint', installPythonPackages);
  const orders = await step('Install Express and jose', express);
  const verifiers: Record<string, Verify> = {
    'jose, in Express': orders('GET'),
    [recentLogin]: orders('DELETE'),
    'go-oidc': await step('Build with go-oidc', () => go(commands)),
    PyJWT: await python(commands),
    'Spring Security': await step('Build with Spring Security', java),
    Envoy: envoy(commands),
  };

  const { check, conclude } = countedChecks('verifiers');
  await check('the templates are right', async () => `${await lintTemplates(commands)} templates`);
  for (const algorithm of tokenAlgorithms) {
    await using cleanUps = new AsyncDisposableStack();
    const running = await startService(
      { TOKEN_ALGORITHM: algorithm, LOGIN_HOOK: 'test/verifiers/hook.mjs' },
      { movableClock: true },
    );
    cleanUps.defer(() => running.stop());
    const service = serviceOf(running.demo, running.directory);
    const cases = await casesOf(service, running);
    const issuer = {
      ISSUER: service.demo.base_url,
      LOGIN_APP_ID: service.demo.login_app.login_app_id,
    };
    const tokens = cases.map(({ token }) => token);
    const [token = ''] = tokens;
    assert.deepEqual(decodeJwt(token).roles, ['admin', 'reader']);
    for (const [name, verify] of Object.entries(verifiers))
      await check(`${name} judges tokens that are signed with ${algorithm}`, async () => {
        const verdicts = await verify(issuer, tokens);
        assert.equal(verdicts.length, cases.length, 'It has not judged every token.');
        const wrong = cases.flatMap(({ accepted, isStale, ...one }, index) => {
          const usual = accepted ? /^accepted/ : /^rejected/;
          const expected = name === recentLogin && isStale ? stepUp : usual;
          return expected.test(verdicts[index] ?? '') ? [] : [`${one.name}: ${verdicts[index]}`];
        });
        assert.deepEqual(wrong, []);
        return `${cases.length} tokens`;
      });
    await check(`go-oidc rejects a token whose ${algorithm} key was revoked`, async () => {
      const around = await verdictsAround(issuer, token, async () => {
        await service.operate('signing-keys', 'revoke', { kid: decodeProtectedHeader(token).kid });
        running.advance(301);
      });
      assert.equal(around[0], 'accepted');
      assert.match(around[1] ?? '', /^rejected/);
    });
  }
  conclude();
});
