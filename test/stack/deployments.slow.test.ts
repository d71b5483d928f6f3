import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import * as v from 'valibot';
import { readDeployment } from '../../infra/settings/deployment-file.ts';
import { root, stacksWith, templateWith, watchingWith } from '../support/template.ts';

const folder = mkdtempSync(join(tmpdir(), 'deployments-'));
afterAll(() => rmSync(folder, { recursive: true }));
function write(name: string, content: unknown): void {
  const isFinished = typeof content === 'string' || content instanceof Uint8Array;
  writeFileSync(join(folder, `${name}.json`), isFinished ? content : JSON.stringify(content));
}
const read = (context: Record<string, unknown>) => readDeployment(context, folder);

/** A table that is not the stack's own, without its stream. */
const table = (tableName: string) => ({ tableName, publishEvents: false });
write('live', { rateLimit: 500, ...table('live-restored') });

describe('the file of a deployment', () => {
  test('holds its settings, and names its stack', () => {
    expect(read({ deployment: 'live' })).toMatchObject({
      deployment: 'live',
      stack: 'live',
      stage: 'production',
      rateLimit: 500,
      tableName: 'live-restored',
    });
  });

  test('is overridden by single settings', () => {
    expect(read({ deployment: 'live', rateLimit: '7' })).toMatchObject({
      rateLimit: 7,
      tableName: 'live-restored',
    });
  });

  test('that ships as an example is valid', () => {
    expect(readDeployment({ deployment: 'example' })).toMatchObject({
      stack: 'example',
      domainName: 'login.example.com',
    });
  });

  const inFile = 'in deployments/wrong.json';
  test.each<[unknown, string]>([
    [
      '{\n  "rateLimit": 5,\n}',
      'deployment must name a JSON object, which deployments/wrong.json does not hold: see its line 3, column 1.',
    ],
    ['[]', 'deployment must name a JSON object, which deployments/wrong.json does not hold.'],
    [
      Buffer.from('{"label": "M\u00fcller"}', 'latin1'),
      'deployment must name a file in UTF-8: deployments/wrong.json is not UTF-8 in line 1; if it is Latin-1 or Windows-1252, save it as UTF-8.',
    ],
    [{ somethingElse: 5 }, `somethingElse ${inFile} is unknown; docs/settings.md lists them all`],
    [{ rateLimit: 'often' }, `rateLimit ${inFile} must be a whole number from 1 to 100000.`],
    [{ stack: 'live' }, `stack ${inFile} must not stand in a file.`],
    [{ change: 'tableName' }, `change ${inFile} must not stand in a file.`],
  ])('with %j is rejected: %s', (content, message) => {
    write('wrong', content);
    expect(() => read({ deployment: 'wrong' })).toThrow(`The setting ${message}`);
  });

  test.each([
    [{ deployment: 'absent' }, 'deployment must name a file: there is no deployments/absent.json.'],
    [{ deployment: '../live' }, 'deployment must be letters, digits and hyphens, at most 40.'],
    [
      { deployment: 'live', rateLimit: 'often' },
      'rateLimit must be a whole number from 1 to 100000.',
    ],
    [
      { deployment: 'live', stack: 'staging' },
      'stack must be left out: the stack of the deployment live has its name.',
    ],
    [{ stack: 'live' }, 'deployment must be live, since there is a file deployments/live.json.'],
  ])('is not bypassed by %j: %s', (context, message) => {
    expect(() => read(context)).toThrow(`The setting ${message}`);
  });
});

describe('a deployed stack keeps', () => {
  const rules = v.record(
    v.string(),
    v.object({
      Assertions: v.tuple([v.object({ Assert: v.unknown(), AssertDescription: v.string() })]),
    }),
  );
  const parameters = v.record(v.string(), v.looseObject({ Default: v.optional(v.string()) }));

  /**
   * What CloudFormation says to an update, by the parameters of the stack as it was deployed: the
   * CDK sends their previous values, and a new parameter gets its default.
   */
  async function update(
    before: Record<string, unknown>,
    after: Record<string, unknown>,
  ): Promise<string[]> {
    const [deployed, next] = [await templateWith(before), await templateWith(after)].map((one) =>
      v.parse(v.looseObject({ Parameters: parameters, Rules: rules }), one.toJSON()),
    );
    return Object.values(next?.Rules ?? {}).flatMap(
      ({ Assertions: [{ Assert, AssertDescription }] }) => {
        const equals = v.safeParse(
          v.object({ 'Fn::Equals': v.tuple([v.object({ Ref: v.string() }), v.string()]) }),
          Assert,
        );
        if (!equals.success) return [];
        const [{ Ref }, demanded] = equals.output['Fn::Equals'];
        const value = deployed?.Parameters[Ref]?.Default ?? next?.Parameters[Ref]?.Default;
        return value === demanded ? [] : [AssertDescription];
      },
    );
  }
  const own = {
    domainName: 'login.example.com',
    certificateArn: 'arn:aws:acm:eu-central-1:123456789012:certificate/1234-abcd',
  };

  test.each([
    ['its deployment', { deployment: 'live' }, {}, 'deployment than none'],
    ['its deployment', {}, { deployment: 'live' }, 'deployment than live'],
    ['its stage', {}, { stage: 'development' }, 'stage than development'],
    ['its domain, which is the issuer', own, {}, 'domainName than none'],
    ['its table', table('restored'), {}, 'tableName than own'],
    ['its table', {}, table('restored'), 'tableName than restored'],
  ])('%s: from %j to %j is rejected', async (_, before, after, what) => {
    const [pin = ''] = what.split(' ');
    expect(await update(before, after)).toEqual([
      `This stack was deployed with another ${what}, so nothing was changed. Is this the right deployment? If it is to be changed, add -c change=${pin}.`,
    ]);
    expect(await update(before, { ...after, change: pin })).toEqual([]);
    expect(await update({ ...after, change: pin }, after)).toEqual([]);
  });

  test('nothing else', async () => {
    expect(await update({}, { rateLimit: 5, canary: false, alarmEmail: 'a@b.example' })).toEqual(
      [],
    );
  });

  test('itself, in production: it cannot be deleted by mistake', async () => {
    const isProtected = async (settings: object) =>
      (await stacksWith({ ...settings })).service.terminationProtection;
    expect(await isProtected({})).toBe(true);
    expect(await isProtected({ stage: 'development' })).toBe(false);
  });
});

test('a change of table is never a canary, which would write to two tables', async () => {
  const groups = 'AWS::CodeDeploy::DeploymentGroup';
  const changed = await watchingWith({ ...table('restored'), change: 'tableName', canary: true });
  changed.resourceCountIs(groups, 0);
  expect(Object.keys((await watchingWith(table('restored'))).findResources(groups))).not.toEqual(
    [],
  );
});

test('with an account and a region, the CDK rejects credentials for another', async () => {
  const { service } = await stacksWith({ account: '123456789012', region: 'eu-west-1' });
  expect(service.environment).toBe('aws://123456789012/eu-west-1');
  expect(readFileSync(join(root, 'deployments/example.json'), 'utf8')).toContain('"account"');
});
