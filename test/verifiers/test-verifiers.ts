import assert from 'node:assert/strict';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { tokenAlgorithms } from '../../lib/signing/settings.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { serviceOf } from '../support/service.ts';
import { startService } from '../support/start-service.ts';
import { noteOutcome, print, runCheck, step } from '../support/steps.ts';
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
 * Has verifiers that others wrote judge the tokens of the service on this machine, with each algorithm. Their code is that
 * of the recipes in `docs/verifying-tokens.md`.
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

  let passed = await step('Lint the templates', () => lintTemplates(commands));
  const failures: string[] = [];
  for (const algorithm of tokenAlgorithms) {
    await step(`Verify tokens that are signed with ${algorithm}`, async () => {
      await using cleanUps = new AsyncDisposableStack();
      const running = await startService(
        { TOKEN_ALGORITHM: algorithm, LOGIN_HOOK: 'test/verifiers/hook.mjs' },
        { movableClock: true },
      );
      cleanUps.defer(() => running.stop());
      const service = serviceOf(running.demo, running.directory);
      const cases = await casesOf(service, running);
      const issuer = { issuer: service.demo.base_url, loginAppId: service.demo.login_app.login_app_id };
      const tokens = cases.map(({ token }) => token);
      assert.deepEqual(decodeJwt(tokens[0] ?? '').roles, ['admin', 'reader']);
      for (const [name, verify] of Object.entries(verifiers)) {
        const verdicts = await verify(issuer, tokens);
        assert.equal(verdicts.length, cases.length, `${name} has not judged every token.`);
        const wrong = cases.flatMap(({ accepted, isStale, ...token }, index) => {
          const expected = name === recentLogin && isStale ? stepUp : accepted ? /^accepted/ : /^rejected/;
          return expected.test(verdicts[index] ?? '') ? [] : [`${token.name}: ${verdicts[index]}`];
        });
        passed += cases.length - wrong.length;
        failures.push(...wrong.map((what) => `${name}, ${algorithm}: ${what}`));
        print(`    ${name}: ${cases.length - wrong.length} of ${cases.length} as they should be`);
      }
      const [token = ''] = tokens;
      const around = await verdictsAround(issuer, token, async () => {
        await service.operate('signing-keys', 'revoke', { kid: decodeProtectedHeader(token).kid });
        running.advance(301);
      });
      assert.equal(around[0], 'accepted');
      assert.match(around[1] ?? '', /^rejected/, 'go-oidc accepts a token whose key was revoked.');
      passed += 1;
    });
  }
  for (const failure of failures) print(`    FAILED  ${failure}`);
  const failed = failures.length > 0 ? `${failures.length} failed, ` : '';
  print(`\nTests:       ${failed}${passed} passed, ${passed + failures.length} total`);
  noteOutcome({ name: 'verifiers', passed, failed: failures.length });
  assert.deepEqual(failures, [], 'Some tokens were not judged as they should be.');
});
