import { describe, expect, test } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import { pascal, readFunctions } from '../../infra/endpoints.ts';
import { otherCanary, withoutCanary } from '../support/deployments.ts';
import {
  named,
  readable,
  resources,
  template,
  templateWith,
  watching,
  watchingWith,
} from '../support/template.ts';

const { endpoints } = readFunctions();
/** The functions of the routes with the most requests. */
const busy = [
  'introspect-token',
  'issue-nonce',
  'issue-token',
  'list-providers',
  'list-recipients',
  'list-signing-keys',
  'register-device',
  'relate-device',
  'search-events',
  'show-login-user',
];
const isBusy = (key: string): boolean => busy.includes(key);
/** The minutes of a canary by the configuration of its deployment group. */
const canaryMinutes = (configuration: string): number =>
  Number(/LambdaCanary10Percent(\d+)Minutes$/.exec(configuration)?.[1]);

describe('new code', () => {
  const live = 'AWS::Lambda::Alias';
  const group = 'AWS::CodeDeploy::DeploymentGroup';
  const asText = (value: unknown): string => JSON.stringify(value);
  const trialSchema = v.looseObject({ Versions: v.record(v.string(), v.unknown()) });
  const trialOf = (of: typeof template) => {
    const [trial] = resources('Custom::Trial', trialSchema, of);
    if (!trial) throw new Error('There is no trial.');
    return trial;
  };

  test('of the ten busy functions gets a tenth of the requests for 15 minutes, and is rolled back on alarms about the API and about itself', () => {
    const groups = resources(
      group,
      v.looseObject({
        DeploymentGroupName: v.string(),
        AlarmConfiguration: v.object({
          Alarms: v.array(v.object({ Name: v.object({ Ref: v.string() }) })),
          Enabled: v.literal(true),
        }),
      }),
      watching,
    );
    const nameOf = ({ Name }: { Name: { Ref: string } }): string =>
      readable(Name).replace(/^Alarms/, '');
    const alarmsOf = groups.map(({ properties: { DeploymentGroupName, AlarmConfiguration } }) => [
      DeploymentGroupName,
      AlarmConfiguration.Alarms.map(nameOf),
    ]);
    expect(alarmsOf.sort()).toEqual(
      busy.map((key) => [
        key,
        ['ServerErrors', `NewVersionErrorsOf${pascal(key)}`, `NewVersionWorseOf${pascal(key)}`],
      ]),
    );
    watching.allResourcesProperties(group, {
      DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent15Minutes',
      AutoRollbackConfiguration: {
        Enabled: true,
        Events: Match.arrayWith(['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM']),
      },
    });
  });

  test('of any function gets requests only after it has been tried, and after its alarms are there', () => {
    const [nested] = Object.keys(template.findResources('AWS::CloudFormation::Stack'));
    for (const [key] of endpoints) {
      const alias = template.findResources(live)[`${pascal(key)}Live`];
      expect(alias?.DependsOn).toEqual(expect.arrayContaining([nested, trialOf(template).id]));
      const byCodeDeploy = { ApplicationName: 'a-stack', DeploymentGroupName: key };
      expect(alias?.UpdatePolicy).toEqual(
        isBusy(key) ? { CodeDeployLambdaAliasUpdate: byCodeDeploy } : undefined,
      );
    }
  });

  test.each<[string, Record<string, unknown>]>([
    ['with a canary', {}],
    ['without one', withoutCanary],
    ['in development', { stage: 'development' }],
  ])('is tried once an update, %s, and what tries it keeps its log', async (_, settings) => {
    const of = await templateWith(settings);
    // What it tries are the versions that are about to go live.
    const { properties } = trialOf(of);
    const published = Object.entries(of.findResources('AWS::Lambda::Version'));
    const tried = published.map(([id, { Properties }]) => ({
      'Fn::Join': ['', [Properties.FunctionName, ':', { 'Fn::GetAtt': [id, 'Version'] }]],
    }));
    expect(properties.ServiceToken).toEqual({ 'Fn::GetAtt': ['CheckNewVersions', 'Arn'] });
    expect(Object.keys(properties.Versions).sort()).toEqual([...endpoints.keys()]);
    expect(Object.values(properties.Versions).map(asText).sort()).toEqual(tried.map(asText).sort());
    of.hasResourceProperties('AWS::Logs::LogGroup', {
      LogGroupName: `/a-stack/check-new-versions`,
    });
    for (const alias of Object.values(of.findResources(live)))
      expect(alias.DependsOn).toContain(trialOf(of).id);
  });

  // The code of 1.0.0, which the deletion would reach on the way back, gives CloudFormation no answer.
  test('is tried by what is never deleted', () => {
    for (const { DeletionPolicy } of Object.values(template.findResources('Custom::Trial')))
      expect(DeletionPolicy).toBe('Retain');
  });

  test('is watched for longer, and in larger groups, when the settings say so', async () => {
    (await watchingWith(otherCanary)).allResourcesProperties(group, {
      DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent30Minutes',
    });
    const aliases = Object.values((await templateWith(otherCanary)).findResources(live));
    const after = aliases.map(({ DependsOn = [] }) =>
      [DependsOn].flat().filter((id) => /Live$/.test(id)),
    );
    const rare = endpoints.size - busy.length;
    expect(after.map((ids) => ids.length).sort((a, b) => a - b)).toEqual([
      ...Array(rare).fill(0),
      ...busy.map(() => rare),
    ]);
  });

  test('goes live in spite of an alarm that is on, when the setting ignoreAlarms says so', async () => {
    const fix = await watchingWith({ ignoreAlarms: true });
    fix.resourceCountIs(group, busy.length);
    fix.allResourcesProperties(group, { AlarmConfiguration: { Alarms: [], Enabled: false } });
  });

  test('is in use at once without a canary', async () => {
    for (const alias of Object.values((await templateWith(withoutCanary)).findResources(live)))
      expect(alias.UpdatePolicy).toBeUndefined();
    const watching = await watchingWith(withoutCanary);
    for (const type of [group, 'AWS::CodeDeploy::Application']) watching.resourceCountIs(type, 0);
    expect(JSON.stringify(watching.toJSON()).match(/\w*NewVersion\w*/g)).toBeNull();
  });

  test('stays when it is no longer live, unless its deployment is rolled back', () => {
    const versions = Object.values(template.findResources('AWS::Lambda::Version'));
    const policies = versions.map(({ DeletionPolicy }) => DeletionPolicy);
    expect(policies).toEqual(Array(endpoints.size).fill('RetainExceptOnCreate'));
  });

  test('of the token function has as many warm instances as are set, by default none, and costs nothing when not live', async () => {
    const version = 'AWS::Lambda::Version';
    template.resourcePropertiesCountIs(
      version,
      { ProvisionedConcurrencyConfig: Match.anyValue() },
      0,
    );
    const warm = await templateWith({ tokenConcurrency: 5 });
    const deleted = Object.values(warm.findResources(version, { DeletionPolicy: 'Delete' }));
    const ProvisionedConcurrencyConfig = { ProvisionedConcurrentExecutions: 5 };
    expect(deleted.map(({ Properties }) => Properties)).toMatchObject([
      { FunctionName: { Ref: 'IssueToken' }, ProvisionedConcurrencyConfig },
    ]);
    warm.resourcePropertiesCountIs(version, { ProvisionedConcurrencyConfig: Match.anyValue() }, 1);
    // Lambda rejects an alias that has them and shifts weights.
    warm.resourcePropertiesCountIs(live, { ProvisionedConcurrencyConfig: Match.anyValue() }, 0);
  });

  test('of the token function is published anew for another number of warm instances', async () => {
    const templates = [
      template,
      await templateWith({ tokenConcurrency: 5 }),
      await templateWith({ tokenConcurrency: 6 }),
    ];
    const versions = templates.flatMap((of) =>
      Object.keys(
        of.findResources('AWS::Lambda::Version', {
          Properties: { FunctionName: { Ref: 'IssueToken' } },
        }),
      ),
    );
    expect(new Set(versions).size).toBe(3);
    // Lambda publishes one only if the function has changed.
    const configured = templates.map((of) =>
      JSON.stringify(of.findResources('AWS::Lambda::Function').IssueToken),
    );
    expect(new Set(configured).size).toBe(3);
  });

  test('goes live in groups: the functions with few requests, and then five at a time, with the token function in the last', () => {
    const waiting = Object.entries(template.findResources(live)).map(
      ([id, { DependsOn = [] }]) => ({
        id,
        after: [DependsOn].flat().filter((other) => /Live$/.test(other)),
      }),
    );
    const groups = Map.groupBy(waiting, ({ after }) => after.toSorted().join());
    const order: string[][] = [];
    for (
      let group = groups.get('');
      group;
      group = groups.get(order.at(-1)?.toSorted().join() ?? '')
    )
      order.push(group.map(({ id }) => id));
    expect(order.flat().sort()).toEqual(waiting.map(({ id }) => id).sort());
    expect(order.map((group) => group.length)).toEqual([endpoints.size - busy.length, 5, 5]);
    expect(order.slice(1).flat().sort()).toEqual(busy.map((key) => `${pascal(key)}Live`));
    expect(order.at(-1)).toContain('IssueTokenLive');
  });

  test('is live 30 to 45 minutes after the first function, by the times that the templates name', () => {
    const groups = resources(
      group,
      v.looseObject({ DeploymentGroupName: v.string(), DeploymentConfigName: v.string() }),
      watching,
    );
    const minutesOf = new Map(
      groups.map(({ properties }) => [
        `${pascal(properties.DeploymentGroupName)}Live`,
        canaryMinutes(properties.DeploymentConfigName),
      ]),
    );
    const aliases = template.findResources(live);
    const endOf = (id: string): number => {
      const earlier = [aliases[id]?.DependsOn ?? []].flat().filter((one) => one in aliases);
      return Math.max(0, ...earlier.map(endOf)) + (minutesOf.get(id) ?? 0);
    };
    const canaries = Math.max(...Object.keys(aliases).map(endOf));
    expect(canaries).toBe(30);
    const trial = named('check-new-versions').Timeout / 60;
    expect(canaries + trial).toBeLessThanOrEqual(45);
  });

  // CodeDeploy rejects the calls for all groups at once.
  test('has deployment groups that are made one after the other', () => {
    const groups = Object.entries(watching.findResources(group));
    const before = groups.map(([, { DependsOn }]) => [DependsOn].flat());
    const [application] = Object.keys(watching.findResources('AWS::CodeDeploy::Application'));
    const expected = [application, ...groups.map(([id]) => id)].slice(0, groups.length);
    expect(before.flat().sort()).toEqual(expected.sort());
  });

  test('is not begun when other versions are live than CloudFormation knows, whenever a canary would begin', async () => {
    const checkOf = (of: typeof template) => {
      const steps = Object.values(of.findResources('Custom::TableFormat'));
      return steps.find(({ Properties }) => Properties.Step === 'check')?.Properties;
    };
    const { LiveVersions, NewVersions } = checkOf(template);
    expect(LiveVersions).toBe('as deployed');
    // CloudFormation asks again with each change of a function.
    const changed = checkOf(await templateWith({ accessTokenSeconds: 60 }));
    expect(changed.NewVersions).not.toBe(NewVersions);
    expect(checkOf(await templateWith({ alarmErrorPercent: 2 }))).toEqual(checkOf(template));
    expect(checkOf(await templateWith(withoutCanary))).not.toHaveProperty('LiveVersions');
  });
});
