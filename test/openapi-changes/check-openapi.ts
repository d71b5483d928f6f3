import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { requireTools, tools } from '../support/needed-tools.ts';
import { print, runCheck, step } from '../support/steps.ts';
import { release } from '../upgrade/release.ts';
import { unannounced } from './changelog.ts';
import { type BreakingChange, breakingChanges, installOasdiff } from './oasdiff.ts';

const file = 'docs/openapi.json';
const { version, commit: releaseCommit } = release;
const changelog = readFileSync('docs/CHANGELOG.md', 'utf8');

/** Changes to the document that clients would notice, and the operation that each one is in. */
const examples: [what: string, operation: string, change: (text: string) => string][] = [
  [
    'a removed field',
    'POST /v2/marketing/oauth/token',
    (text) => text.replace(/"expires_in": \{[^}]*\},/, '').replace('"expires_in",', ''),
  ],
  [
    'a new required parameter',
    'POST /v1/rbac/access_requests',
    (text) =>
      text.replace(
        /("operationId": "create-access-request",[\s\S]*?"parameters": \[)/,
        '$1{"name": "team", "in": "query", "required": true, "schema": {"type": "string"}},',
      ),
  ],
  [
    'a narrowed type',
    'POST /v1/rbac/access_requests/{access_request_id}/comments',
    (text) => text.replaceAll(/"enum": \[\s*"login_user",\s*"custom"\s*\]/g, '"enum": ["custom"]'),
  ],
];

/**
 * Compares `docs/openapi.json` with each copy of it that was committed since the last release. A change that may
 * break clients needs an entry in the changelog, under "Breaking", that names the operation.
 */
runCheck(async (cleanUps) => {
  await requireTools([tools.python, tools.git]);
  const oasdiff = await step('Install oasdiff', installOasdiff);
  const folder = cleanUps.adopt(mkdtempSync(join(tmpdir(), 'openapi-')), (path) =>
    rmSync(path, { recursive: true, force: true }),
  );
  await step('The check finds what it is there for', async () => {
    for (const [what, operation, alter] of examples) {
      const altered = join(folder, 'altered.json');
      writeFileSync(altered, alter(readFileSync(file, 'utf8')));
      const found = await breakingChanges(oasdiff, file, altered);
      assert.ok(found.some(isIn(operation)), `It did not find ${what}.`);
      assert.deepEqual(unannounced(found, '## Unreleased\n\n### Fixed\n', '1.0.0'), found);
      const entry = `### Breaking\n\n- \`${operation}\`: …\n`;
      for (const news of [
        `## Unreleased\n\n${entry}`,
        `## Unreleased\n\n## 1.1.0 - 2027-01-31\n\n${entry}`,
      ]) {
        const left = unannounced(found, `${news}\n## 1.0.0 - 2026-11-23\n`, '1.0.0');
        assert.ok(!left.some(isIn(operation)), `The changelog does not allow ${what}.`);
      }
      const old = unannounced(found, `## Unreleased\n\n## 1.0.0 - 2026-11-23\n\n${entry}`, '1.0.0');
      assert.deepEqual(old, found);
    }
  });
  await step('Compare the document with its earlier copies', async () => {
    const commits = await earlierCopies();
    print(`    ${commits.join(', ') || 'NOTHING WAS COMPARED: git has no earlier copy here.'}`);
    if ((await git('rev-parse', '--is-shallow-repository')) === 'true')
      print('    THE CLONE IS SHALLOW: for the copies that it lacks, run `git fetch --unshallow --tags`.');
    for (const commit of commits) {
      const found = unannounced(
        await breakingChanges(oasdiff, `${commit}:${file}`, file),
        changelog,
        version,
      );
      const lines = found.map(({ operation, path, text }) => `  ${operation} ${path}: ${text}`);
      if (lines.length > 0)
        throw new Error([`Since ${commit}, clients may break:`, ...lines, advice].join('\n'));
    }
  });
});

const advice =
  'Undo the change, or name the operation, such as `POST /v1/things`, in docs/CHANGELOG.md under "## Unreleased", "### Breaking".';

const isIn =
  (name: string) =>
  ({ operation, path }: BreakingChange): boolean =>
    `${operation} ${path}` === name;

/** The commits of the copies since the last release, and of the one in it, newest first. What is no clone has none. */
async function earlierCopies(): Promise<string[]> {
  const since = await git('log', '--format=%h', `${releaseCommit}..HEAD`, '--', file);
  const released = await git('log', '-1', '--format=%h', releaseCommit, '--', file);
  return [since, released].flatMap((lines) => lines.split('\n')).filter((line) => line !== '');
}

/** What git prints; nothing when it fails. */
async function git(...words: string[]): Promise<string> {
  return (await execa('git', words, { reject: false })).stdout;
}
