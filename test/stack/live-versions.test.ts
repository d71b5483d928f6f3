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
    const nameOf = ({ Name }: { Name: { Ref: string } }): string =>
      readable(Name).replace(/^Alarms/, '');
    const alarmsOf = groups.map(({ properties: { DeploymentGroupName, AlarmConfiguration } }) => [
      DeploymentGroupName,
      AlarmConfiguration.Alarms.map(nameOf),
    ]);
    expect(alarmsOf.sort()).toEqual(
      [...endpoints.keys()].map((key) => [
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

  test('of any function gets requests only after it has been tried, and after its alarms are there', async () => {
    const [nested] = Object.keys(template.findResources('AWS::CloudFormation::Stack'));
    for (const [key] of endpoints) {
      const alias = template.findResources(live)[`${pascal(key)}Live`];
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
      expect(versions).toContain(
        `=",${JSON.stringify(name)},":",{"Fn::GetAtt":["${id}","Version"]}`,
      );
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

  test('goes live in groups of at most five, each after the one before, with the token function in the last', () => {
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
    for (const group of order) expect(group.length).toBeLessThanOrEqual(5);
    expect(order.at(-1)).toContain('IssueTokenLive');
  });
});
