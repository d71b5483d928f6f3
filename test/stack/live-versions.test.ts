import { describe, expect, test } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import { logicalIdOf, readFunctions } from '../../infra/endpoints.ts';
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

describe('new code', () => {
  const live = 'AWS::Lambda::Alias';
  const group = 'AWS::CodeDeploy::DeploymentGroup';

  test('gets a tenth of the requests for 15 minutes, and is rolled back on alarms about the API and about itself', () => {
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
    const nameOf = ({ Name }: { Name: { Ref: string } }): string => readable(Name).replace(/^Alarms/, '');
    const alarmsOf = groups.map(({ properties: { DeploymentGroupName, AlarmConfiguration } }) => [
      DeploymentGroupName,
      AlarmConfiguration.Alarms.map(nameOf),
    ]);
    expect(alarmsOf.sort()).toEqual(
      [...endpoints.keys()].map((key) => [
        key,
        ['ServerErrors', `NewVersionErrorsOf${logicalIdOf(key)}`, `NewVersionWorseOf${logicalIdOf(key)}`],
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

  test('of any function gets requests only after it has been tried, and after its alarms are there', async () => {
    const [nested] = Object.keys(template.findResources('AWS::CloudFormation::Stack'));
    for (const [key] of endpoints) {
      const alias = template.findResources(live)[`${logicalIdOf(key)}Live`];
      expect(alias?.DependsOn).toContain(nested);
      expect(alias?.UpdatePolicy).toEqual({
        CodeDeployLambdaAliasUpdate: {
          ApplicationName: 'a-stack',
          DeploymentGroupName: key,
          BeforeAllowTrafficHook: { Ref: 'CheckNewVersions' },
        },
      });
    }
    // What it tries are the versions that are about to go live.
    const published = Object.entries(template.findResources('AWS::Lambda::Version')).map(
      ([id, { Properties }]) => [Properties.FunctionName, id] as const,
    );
    const versions = JSON.stringify(named('check-new-versions').Environment.Variables.NEW_VERSIONS);
    for (const [name, id] of published)
      expect(versions).toContain(`=",${JSON.stringify(name)},":",{"Fn::GetAtt":["${id}","Version"]}`);
    expect(published).toHaveLength(endpoints.size);
    (await templateWith(withoutCanary)).resourcePropertiesCountIs(
      'AWS::Lambda::Function',
      { Timeout: 180 },
      0,
    );
  });

  test('is watched for longer, and in larger groups, when the settings say so', async () => {
    (await watchingWith(otherCanary)).allResourcesProperties(group, {
      DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent30Minutes',
    });
    const aliases = Object.values((await templateWith(otherCanary)).findResources(live));
    for (const { DependsOn = [] } of aliases)
      expect([DependsOn].flat().filter((id) => /Live$/.test(id))).toEqual([]);
  });

  test('goes live in spite of an alarm that is on, when the setting ignoreAlarms says so', async () => {
    const fix = await watchingWith({ ignoreAlarms: true });
    fix.resourceCountIs(group, endpoints.size);
    fix.allResourcesProperties(group, { AlarmConfiguration: { Alarms: [], Enabled: false } });
  });

  test('is in use at once without a canary', async () => {
    for (const alias of Object.values((await templateWith(withoutCanary)).findResources(live)))
      expect(alias.UpdatePolicy).toBeUndefined();
    (await watchingWith(withoutCanary)).resourceCountIs(group, 0);
    (await watchingWith(withoutCanary)).resourceCountIs('AWS::CodeDeploy::Application', 0);
    expect(JSON.stringify((await watchingWith(withoutCanary)).toJSON())).not.toContain('NewVersion');
  });

  test('stays when it is no longer live, unless its deployment is rolled back', () => {
    const versions = Object.values(template.findResources('AWS::Lambda::Version'));
    const policies = versions.map(({ DeletionPolicy }) => DeletionPolicy);
    expect(policies).toEqual(Array(endpoints.size).fill('RetainExceptOnCreate'));
  });

  test('with warm instances, which cost money, goes when it is no longer live', async () => {
    const version = { Type: 'AWS::Lambda::Version', DeletionPolicy: 'Delete' };
    const warm = (await templateWith({ tokenConcurrency: 5 })).findResources(version.Type, version);
    expect(Object.values(warm).map(({ Properties }) => Properties.FunctionName)).toEqual([
      { Ref: 'IssueToken' },
    ]);
  });

  test('of the token function has as many warm instances as are set, by default none', async () => {
    const version = 'AWS::Lambda::Version';
    template.resourcePropertiesCountIs(version, { ProvisionedConcurrencyConfig: Match.anyValue() }, 0);
    const warm = await templateWith({ tokenConcurrency: 5 });
    const provisioned = { ProvisionedConcurrencyConfig: { ProvisionedConcurrentExecutions: 5 } };
    warm.resourcePropertiesCountIs(version, provisioned, 1);
    warm.hasResourceProperties(version, { ...provisioned, FunctionName: { Ref: 'IssueToken' } });
    // Lambda rejects an alias that has them and shifts weights.
    warm.resourcePropertiesCountIs(live, { ProvisionedConcurrencyConfig: Match.anyValue() }, 0);
  });

  test('of the token function is published anew for another number of warm instances', async () => {
    const [five, six] = [
      await templateWith({ tokenConcurrency: 5 }),
      await templateWith({ tokenConcurrency: 6 }),
    ];
    const publishedIn = (of: typeof template) =>
      Object.entries(of.findResources('AWS::Lambda::Version'))
        .filter(([, { Properties }]) => Properties.FunctionName.Ref === 'IssueToken')
        .map(([id]) => id);
    expect(publishedIn(five)).not.toEqual(publishedIn(six));
    expect(publishedIn(five)).not.toEqual(publishedIn(template));
    const configuredIn = (of: typeof template) =>
      of.findResources('AWS::Lambda::Function').IssueToken?.Properties;
    expect(configuredIn(five)).not.toEqual(configuredIn(six));
  });

  test('goes live in groups of at most five, each after the one before, with the token function in the last', () => {
    const waiting = Object.entries(template.findResources(live)).map(([id, { DependsOn = [] }]) => ({
      id,
      after: [DependsOn].flat().filter((other) => /Live$/.test(other)),
    }));
    const groups = Map.groupBy(waiting, ({ after }) => after.toSorted().join());
    const first = waiting.filter(({ after }) => after.length === 0).map(({ id }) => id);
    const order = [first];
    for (let group = first; group.length > 0; ) {
      group = (groups.get(group.toSorted().join()) ?? []).map(({ id }) => id);
      if (group.length > 0) order.push(group);
    }
    expect(order.flat().sort()).toEqual(waiting.map(({ id }) => id).sort());
    for (const group of order) expect(group.length).toBeLessThanOrEqual(5);
    expect(order.at(-1)).toContain('IssueTokenLive');
  });
});
