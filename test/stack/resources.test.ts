import { expect, test } from '@jest/globals';
import * as v from 'valibot';
import { routeKeyOf } from '../../infra/endpoints.ts';
import { logicalIdOf } from '../../infra/stack/service-function.ts';
import {
  accesses,
  endpoints,
  everything,
  template,
  templateWith,
  text,
  watchingWith,
} from '../support/template.ts';

const resource = v.object({ Type: v.string(), DeletionPolicy: v.optional(v.string()) });
const { Resources } = v.parse(v.object({ Resources: v.record(v.string(), resource) }), template.toJSON());

/** As the CDK writes names in logical ids. */
const lettersOf = (name: string): string => name.replace(/[^A-Za-z0-9]/g, '');
const byLength = (names: string[]): string[] => names.toSorted((a, b) => b.length - a.length);

const routes = byLength([...endpoints.values()].map((endpoint) => lettersOf(routeKeyOf(endpoint))));
const keys = byLength(accesses.map(([key]) => lettersOf(key)));
const functionIds = byLength(accesses.map(([key]) => logicalIdOf(key)));

/** A logical id with the names of a route and a function replaced; it then ends without a hash, which follows from them. */
function patternOf(id: string): string {
  const replaced = [
    [routes, '{route}'] as const,
    [keys, '{function}'] as const,
    [functionIds, '{Function}'] as const,
  ].reduce((text, [names, mark]) => {
    const name = names.find((one) => text.includes(one));
    return name === undefined ? text : text.replace(name, mark);
  }, id);
  return replaced === id ? id : replaced.replace(/[0-9A-F]{8}(\w{32})?$/, '');
}

/**
 * A logical id that changes is a resource that is created again, and its old one deleted or left behind: for the table
 * and the secrets that would be the loss of all their data. Every function and every route has the same resources.
 */
test('a deployment makes these resources, under these logical ids', () => {
  const lines = Object.entries(Resources).map(([id, { Type, DeletionPolicy = '' }]) =>
    `${Type.replace('AWS::', '')} ${patternOf(id)} ${DeletionPolicy}`.trim(),
  );
  expect([...new Set(lines)].sort()).toEqual([
    'ApiGatewayV2::Api ApiHttp17514DA7',
    'ApiGatewayV2::Integration ApiHttp{route}{function}',
    'ApiGatewayV2::Route ApiHttp{route}',
    'ApiGatewayV2::Stage ApiStage4697DF29',
    'CloudFormation::Stack WatchingNestedStackWatchingNestedStackResourceF334BCAB Delete',
    'Custom::FirstRotation FirstRotationWait6E01667C Delete',
    'Custom::TableFormat TableFormatcheck037B8FCA Delete',
    'Custom::TableFormat TableFormatrecord5D39E3AA Delete',
    'DynamoDB::Table TableCD117FA1 Retain',
    'Events::EventBus EventPublishingBus86E32FD0',
    'Events::Rule AlarmsFailedRotations458D44BD',
    'Events::Rule {Function}',
    'IAM::Role LiveVersionsRole3FE623AA',
    'IAM::Role {function}Role',
    'Lambda::Alias {Function}Live',
    'Lambda::EventInvokeConfig {function}FunctionEventInvokeConfig',
    'Lambda::EventSourceMapping EventPublishingStreamD52975F0',
    'Lambda::Function {Function}',
    'Lambda::Permission ApiHttp{route}{function}Permission',
    'Lambda::Permission AuditDeliveries18A5EE5E',
    'Lambda::Permission {Function}AllowEventRuleastack{function}Function518842E7',
    'Lambda::Permission {function}FunctionProviderSettingsRotation',
    'Lambda::Permission {function}FunctionRefreshTokensRotation',
    'Lambda::Permission {function}FunctionSigningKeyRotation',
    'Lambda::Version {function}FunctionCurrentVersion',
    'Logs::LogGroup ApiAccessLog713001CC Delete',
    'Logs::LogGroup AuditLog37476C05 Retain',
    'Logs::LogGroup {function}Log Delete',
    'Logs::MetricFilter ApiAccessLogServerErrors12AAD3D6',
    'Logs::MetricFilter ApiAccessLogThrottles57BBEC19',
    'Logs::SubscriptionFilter Audit{function}',
    'SNS::Topic AlarmsTopic3A2DFEBA',
    'SNS::TopicPolicy AlarmsTopicPolicyED3A875E',
    'SQS::Queue AuditUndelivered6C71341C RetainExceptOnCreate',
    'SQS::Queue EventPublishingDeadLettersA931700C Delete',
    'SQS::QueuePolicy AuditUndeliveredPolicy8BA662B4',
    'SQS::QueuePolicy EventPublishingDeadLettersPolicy5653938A',
    'SecretsManager::RotationSchedule ProviderSettingsRotationSchedule06F98A4B',
    'SecretsManager::RotationSchedule RefreshTokensRotationScheduleB431185A',
    'SecretsManager::RotationSchedule SigningKeyRotationSchedule8E3BE7B6',
    'SecretsManager::Secret SecretsProviderSettings4E6314D7 RetainExceptOnCreate',
    'SecretsManager::Secret SecretsRefreshTokens4B65249A RetainExceptOnCreate',
    'SecretsManager::Secret SecretsSigningKeys20695C0E RetainExceptOnCreate',
  ]);
});

/** CloudFormation takes 500. Each endpoint has ten or eleven, so there is room for twenty more. */
test('a deployment with every option has at most 300 resources', () => {
  for (const one of [templateWith(everything), watchingWith(everything)])
    expect(Object.keys(one.toJSON().Resources).length).toBeLessThanOrEqual(300);
});

const longestArn = `arn:aws:lambda:ap-southeast-1:123456789012:function:${'a'.repeat(64)}`;

/** IAM takes 10,240 characters. During an update, a role may have the policies of the version before besides. */
test('the rights of each role fit beside it, also under the longest name of a deployment', () => {
  const roles = templateWith({ ...everything, stack: 'a'.repeat(40) }).findResources('AWS::IAM::Role');
  for (const { Properties } of Object.values(roles)) {
    const rights = JSON.stringify(Properties.Policies ?? [], (_, value: unknown) =>
      typeof value === 'object' && value !== null && ('Fn::GetAtt' in value || 'Fn::Join' in value)
        ? text(value).replace(/^\w+/, longestArn)
        : value,
    );
    expect(rights.length).toBeLessThan(8_400);
  }
});
