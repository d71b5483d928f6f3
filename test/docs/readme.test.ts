import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { routes } from '../../lib/routes.ts';
import { startService } from '../support/start-service.ts';

const readme = readFileSync('README.md', 'utf8');

test("the README's lines, pasted into a shell, answer as it says", async () => {
  const service = await startService();
  const folder = mkdtempSync(join(tmpdir(), 'readme-'));
  symlinkSync(service.directory, join(folder, '.local'));
  const [, lines = ''] = readme.match(/^## Try it$.*?^```sh\n(.*?)^```$/ms) ?? [];
  const [, promised = ''] = readme.match(/^They answer .*?^```json\n(.*?)^```$/ms) ?? [];
  const output = execFileSync('bash', ['-e'], { cwd: folder, input: lines, encoding: 'utf8' });
  const answers = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  const shapeOf = (answer: object) => Object.keys(answer);
  expect(answers(output).map(shapeOf)).toEqual(answers(promised).map(shapeOf));
  const [, , , , search] = answers(output);
  const [, , , , promisedSearch] = answers(promised);
  const timeless = (result: { results: object[] }) => ({
    ...result,
    results: result.results.map((event) => ({ ...event, created_at: '', updated_at: '' })),
  });
  expect(timeless(search)).toEqual(timeless(promisedSearch));
  rmSync(folder, { recursive: true });
  await service.stop();
});

test('the README names every endpoint, and the command for its event file', () => {
  for (const [key, { method, path }] of Object.entries(routes)) {
    expect(readme).toContain(`\`${method} ${path}\``);
    const name = key.replace(/(^|-)(\w)/g, (_, __, letter: string) => letter.toUpperCase());
    expect(readme).toMatch(
      new RegExp(
        `sam local invoke ${name} +-t cdk.out/login-service.template.json -e test/events/${key}.json`,
      ),
    );
  }
});
