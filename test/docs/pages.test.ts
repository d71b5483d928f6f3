import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import * as v from 'valibot';
import { partsOf, readFunctions } from '../../infra/endpoints.ts';
import { readDeployment } from '../../infra/settings/deployment-file.ts';
import { readSettings } from '../../infra/settings/settings.ts';
import { statuses } from '../../lib/foundation/service-error.ts';
import { metrics } from '../../lib/log/metrics.ts';
import { publicSigningKeysKey } from '../../lib/storage/keys.ts';
import { table } from '../../lib/storage/table.ts';
import { assumptions } from '../capacity/prices.ts';
import { withEdge } from '../support/deployments.ts';
import {
  edgeWith,
  resources,
  stacksWith,
  template,
  templateWith,
  watching,
} from '../support/template.ts';

const pages = [
  'README.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].map((path) => ({ path, text: readFileSync(path, 'utf8') }));

const textOf = (page: string): string => pages.find(({ path }) => path === page)?.text ?? '';

/** The anchors of a page's headings, as code hosts make them. */
const anchorsOf = (page: string): string[] =>
  [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );

test('each link leads to a file and a heading that exist', () => {
  const broken = pages.flatMap(({ path: page, text }) =>
    [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].flatMap(
      ([link, path = '', anchor]) => {
        const target = path === '' ? page : join(dirname(page), path);
        const leads =
          existsSync(target) && (anchor === undefined || anchorsOf(target).includes(anchor));
        return leads ? [] : [`${page}: ${link}`];
      },
    ),
  );
  expect(broken).toEqual([]);
});

test('the README leads to every page', () => {
  const missing = pages.slice(1).filter(({ path }) => !textOf('README.md').includes(`(${path})`));
  expect(missing.map(({ path }) => `README.md has no link to ${path}.`)).toEqual([]);
});

test('the client guide has a request to paste for every endpoint', async () => {
  const commands = textOf('docs/client-guide.md').replaceAll('\\\n', ' ').split('\n');
  /**
   * The method that curl uses; `"$@"` stands for the form that the lines below a shell function
   * give it.
   */
  const methodOf = (command: string): string => {
    const [, method] = command.match(/ -X (\w+)/) ?? [];
    return method ?? (/ -d | "\$@"/.test(command) ? 'POST' : 'GET');
  };
  const missing = [...readFunctions().endpoints.values()]
    .map(partsOf)
    .filter(({ method, path }) => {
      // A parameter is a shell variable, what a command prints, or a value.
      const filledIn = path
        .replaceAll('.', '\\.')
        .replaceAll(/\{\w+\}/g, '(\\$\\w+|\\$\\([^)]*\\)|\\w+)');
      const address = new RegExp(`"\\$BASE${filledIn}(\\?[^"]*)?"`);
      return !commands.some((command) => address.test(command) && methodOf(command) === method);
    });
  const problems = missing.map(
    ({ method, path }) =>
      `docs/client-guide.md has no curl command with "$BASE${path}" and the method ${method}.`,
  );
  expect(problems).toEqual([]);
});

test("the client guide's table of errors has each code, with its status", () => {
  const rows = [
    ...textOf('docs/client-guide.md').matchAll(/^\| (\d{3}) \| ((?:`\w+`(?:, )?)+) \|/gm),
  ];
  const told = rows.flatMap(([, status, codes = '']) =>
    [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => `${status} ${code}`),
  );
  const all = Object.entries({ ...statuses, internal_server_error: 500 });
  expect(told.toSorted()).toEqual(all.map(([code, status]) => `${status} ${code}`).toSorted());
});

test('the commands of the section about restoring name what the table has', () => {
  const words = textOf('docs/maintenance.md').split(/[\s',]+(?=AttributeName)|\s'?|'\s/);
  const { pk, sk } = publicSigningKeysKey();
  const key = JSON.stringify({ pk: { S: pk }, sk: { S: sk } });
  const named = words.filter(
    (word) => word.startsWith('AttributeName=') || word.startsWith('{"pk"'),
  );
  expect(named).toEqual([`AttributeName=${table.timeToLive}`, key]);
});

const outputs = new Set(
  [template, await templateWith(withEdge), (await edgeWith()).template].flatMap((one) =>
    Object.keys(one.findOutputs('*')),
  ),
);

/** The output that a page sets a variable from: by `output NAME`, or by a query of its own. */
const outputOf = (variable: string, text: string): string | undefined =>
  new RegExp(
    `${variable}=\\$\\((?:output (\\w+)\\)|aws cloudformation describe-stacks [^)]*?OutputKey=='(\\w+)')`,
    's',
  )
    .exec(text)
    ?.slice(1)
    .find(Boolean);

test('each variable of an ARN is set from an output of the stack, on the page that uses it', () => {
  const used = pages.flatMap(({ path, text }) =>
    [...new Set(text.match(/(?<=\$)\w+_ARN\b/g))].map((variable) => ({
      path,
      variable,
      set: outputs.has(outputOf(variable, text) ?? ''),
    })),
  );
  expect(used.length).toBeGreaterThanOrEqual(4);
  expect(used.filter(({ set }) => !set)).toEqual([]);
});

test('each output that a page asks for is one of the stack', () => {
  const asked = pages.flatMap(({ text }) =>
    [...text.matchAll(/OutputKey=='(\w+)'|\(output (\w+)\)/g)].map(
      ([, query, name]) => query ?? name ?? '',
    ),
  );
  expect(asked).toEqual(expect.arrayContaining(['SigningKeysSecretArn', 'TableName']));
  expect(asked.filter((name) => !outputs.has(name))).toEqual([]);
});

test('no page has a command that only GNU has', () => {
  const gnuOnly =
    /\bdate (-d|--date)|\b(sha|md5)\d*sum\b|\bsed -i |\bbase64 -w|\breadlink -f|\bGNU\b/;
  expect(pages.filter(({ text }) => gnuOnly.test(text)).map(({ path }) => path)).toEqual([]);
});

test('each cdk deploy with settings names its deployment, but for a trial', () => {
  const lines = pages
    // The changelog says what was, and apps of others have settings of their own.
    .filter(({ path }) => !['docs/CHANGELOG.md', 'docs/embedding.md'].includes(path))
    .flatMap(({ path, text }) => text.split('\n').map((line) => `${path}: ${line}`));
  const deploying = lines.filter((line) => /npx cdk deploy/.test(line));
  const without = deploying.filter((line) => !line.includes('-c deployment='));
  expect(deploying.length).toBeGreaterThan(10);
  expect(without).toEqual([
    'docs/production.md: trial() { npx cdk deploy -c stack=login-trial --require-approval never "$@"; }',
    'docs/settings.md: npx cdk deploy -c stack=login-trial -c stage=development',
  ]);
});

test('each cdk deploy works with an edge, which is a second stack', () => {
  const commands = pages
    .filter(({ path }) => path !== 'docs/CHANGELOG.md')
    .flatMap(({ text }) => text.match(/npx cdk deploy .*-c deployment=\S+/g) ?? []);
  expect(commands.length).toBeGreaterThan(10);
  expect(
    commands.filter((command) => !/ deploy (--all|NAME( NAME-edge)?) -c/.test(command)),
  ).toEqual([]);
});

describe('the section about a second region', () => {
  const [, section = ''] =
    textOf('docs/maintenance.md').match(/^## A second region$(.*?)^## /ms) ?? [];
  const values: Record<string, string> = {
    TABLE: 'example-Table-1A2B',
    STREAM:
      'arn:aws:dynamodb:eu-west-1:123456789012:table/example-Table-1A2B/stream/2026-01-31T08:00:00.000',
    CERTIFICATE: 'arn:aws:acm:eu-west-1:123456789012:certificate/1234-abcd',
  };
  const commands = section
    .replaceAll(/\\\n\s+/g, '')
    .split('\n')
    .filter((line) => line.trim().startsWith('npx cdk deploy'))
    .map((line) =>
      line.replaceAll('NAME', 'example').replaceAll(/"\$(\w+)"/g, (_, name) => values[name] ?? ''),
    );

  test('has commands that deploy', () => {
    expect(commands).toHaveLength(2);
  });

  test.each(commands)('%s makes what it names, with an edge', async (command) => {
    const context: Record<string, unknown> = {
      ...Object.fromEntries(
        [...command.matchAll(/-c (\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
      ),
      edge: true,
      edgeCertificateArn: withEdge.edgeCertificateArn,
      replicaRegions: 'eu-west-1',
    };
    const { canary, change, ...settings } = readDeployment(context);
    const { service, edge } = await stacksWith({ ...settings, canary });
    const named = command.match(/(?<=deploy )[\w -]+(?= -c deployment)/)?.[0].split(' ');
    expect([service.name, edge?.name]).toEqual(expect.arrayContaining(named ?? []));
    expect(change).toEqual([]);
    expect(service.environment).toMatch(/\/eu-west-1$/);
    // The edge now leads there.
    const readByEdge = JSON.stringify(edge?.template.toJSON()).match(
      /(?<="Fn::GetStackOutput":)\{[^}]*\}/g,
    );
    expect(readByEdge).toContain(
      '{"StackName":"example","Region":"eu-west-1","OutputName":"DomainTarget"}',
    );
    const { template } = service;
    template.hasOutput('DomainTarget', {});
    template.resourceCountIs('AWS::DynamoDB::Table', 0);
    // Secrets Manager takes no copy in the region of the secret itself.
    expect(JSON.stringify(template.toJSON()).match(/"ReplicaRegions":[^\]]*/g)).toBeNull();
  });
});

const capacity = textOf('docs/capacity.md');

test('the tables of the page about capacity are what npm run capacity prints', () => {
  const printed = execFileSync(process.execPath, ['test/capacity/main.ts'], {
    // Other tests keep the machine busy.
    env: { ...process.env, NODE_OPTIONS: '', AWS_CALL_MILLISECONDS: '60000' },
    encoding: 'utf8',
  });
  const rowsOf = (text: string): string[] =>
    text.split('\n').filter((line) => line.startsWith('|'));
  const [costsAndQuotas = ''] = capacity.split('\n## Performance\n');
  expect(rowsOf(costsAndQuotas)).toEqual(rowsOf(printed));
});

test('the fixed costs count the alarms that a deployment has', () => {
  const alarm = v.object({
    Metrics: v.optional(v.array(v.object({ MetricStat: v.optional(v.unknown()) }))),
  });
  // CloudWatch bills an alarm for each metric that it reads, but not for the expression over them.
  const metrics = resources('AWS::CloudWatch::Alarm', alarm, watching).map(
    ({ properties }) =>
      properties.Metrics?.filter(({ MetricStat }) => MetricStat !== undefined).length ?? 1,
  );
  const sum = metrics.reduce((total, count) => total + count, 0);
  const costs = capacity.match(/\d+ alarms over \d+ metrics at \S+ each: [$\d]+\.\d+/);
  expect(`docs/capacity.md: ${costs}`).toBe(
    `docs/capacity.md: ${metrics.length} alarms over ${sum} metrics at $0.10 each: $${(sum * 0.1).toFixed(2)}`,
  );
});

test('the pages have what the alarms of new versions cost, and how many metrics are our own', () => {
  const alarms = Object.entries(watching.findResources('AWS::CloudWatch::Alarm'));
  const metricsOfVersions = alarms
    .filter(([id]) => /NewVersion/.test(id))
    .flatMap(([, { Properties }]) => Properties.Metrics)
    .filter(({ MetricStat }) => MetricStat !== undefined);
  const dollars = `$${(metricsOfVersions.length * 0.1).toFixed(2)}`;
  const told = [capacity, textOf('docs/CHANGELOG.md')].map(
    (page) => page.match(/\$[\d.]+(?= (of the sum|a month together))/)?.[0],
  );
  expect(told).toEqual([dollars, dollars]);
  // By name and dimensions, if each dimension has one value, and without a login hook.
  const own = new Set(
    metrics
      .filter(({ name }) => !name.startsWith('LoginHook'))
      .flatMap(({ name, by }) => [[], ...by].map((dimensions) => `${name} ${dimensions}`)),
  );
  expect(capacity.match(/\d+ metrics of our own at \S+ each: about [$\d]+\.\d+/)?.[0]).toBe(
    `${own.size} metrics of our own at $0.30 each: about $${(own.size * 0.3).toFixed(2)}`,
  );
});

test('the fixed costs are the sum of their list, here, in the README and in test/capacity/prices.ts', () => {
  const [, list = ''] = capacity.match(/^\*\*Fixed costs\*\*.*?\n\n(.*?)\n\n/ms) ?? [];
  const parts = [...list.matchAll(/^- .*?: (?:about )?\$(\d+(?:\.\d+)?)/gms)].map(([, dollars]) =>
    Number(dollars),
  );
  expect(parts).toHaveLength(4);
  const together = Math.round(parts.reduce((total, part) => total + part, 0));
  const readme = textOf('README.md').replaceAll(/\s+/g, ' ');
  expect({
    'docs/capacity.md': capacity.match(/\*\*Fixed costs\*\* are about \$(\d+)/)?.[1],
    'README.md': readme.match(/fixed costs \([^)]*\) are about \$(\d+)/)?.[1],
    'test/capacity/prices.ts': String(assumptions.fixed),
  }).toEqual({
    'docs/capacity.md': String(together),
    'README.md': String(together),
    'test/capacity/prices.ts': String(together),
  });
});

test('the README has what a million people cost with both kinds of clients, in tens of dollars', () => {
  const [, ...together] = capacity.match(/^\| Together \| (\d+) \| (\d+) \|$/m) ?? [];
  const readme = textOf('README.md').replaceAll(/\s+/g, ' ');
  const [, ...told] =
    readme.match(
      /\[about \$(\d+) a month\]\(docs\/capacity\S+ or about \$(\d+) if the apps are public/,
    ) ?? [];
  expect(told).toEqual(together.map((dollars) => String(Math.round(Number(dollars) / 10) * 10)));
  expect(told).toHaveLength(2);
});

test('the throttle of the token route takes a million people who open public clients in one hour', () => {
  const { tokenRateLimit } = readSettings({});
  expect(tokenRateLimit).toBeGreaterThan((2 * 1e6) / 3600);
});
