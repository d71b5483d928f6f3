import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import * as v from 'valibot';
import { resources, watching } from '../support/template.ts';

const page = readFileSync('docs/capacity.md', 'utf8');
const rowsOf = (text: string): string[] => text.split('\n').filter((line) => line.startsWith('|'));

test('the tables of the page about capacity are what npm run capacity prints', () => {
  const printed = execFileSync(process.execPath, ['test/capacity/main.ts'], {
    env: { ...process.env, NODE_OPTIONS: '' },
    encoding: 'utf8',
  });
  const [costsAndQuotas = ''] = page.split('\n## Performance\n');
  expect(rowsOf(costsAndQuotas)).toEqual(rowsOf(printed));
});

test('the fixed costs count the alarms that a deployment has', () => {
  const alarm = v.object({ Metrics: v.optional(v.array(v.object({ MetricStat: v.optional(v.unknown()) }))) });
  // CloudWatch bills an alarm for each metric that it reads, but not for the expression over them.
  const metrics = resources('AWS::CloudWatch::Alarm', alarm, watching).map(
    ({ properties }) => properties.Metrics?.filter(({ MetricStat }) => MetricStat !== undefined).length ?? 1,
  );
  const sum = metrics.reduce((total, count) => total + count, 0);
  const costs = page.match(/\d+ alarms over \d+ metrics at \S+ each: [$\d]+\.\d+/g);
  expect(costs).toEqual([
    `${metrics.length} alarms over ${sum} metrics at $0.10 each: $${(sum * 0.1).toFixed(2)}`,
  ]);
});

test('the README has what a million people cost, in tens of dollars', () => {
  const together = Number(page.match(/(?<=^\| Together \| )\d+/m)?.[0]);
  const readme = readFileSync('README.md', 'utf8');
  expect(readme).toContain(`[about $${Math.round(together / 10) * 10} a month](docs/capacity.md`);
});
