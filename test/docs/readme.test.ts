import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
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
