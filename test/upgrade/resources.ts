import type { StackTemplate } from './releases.ts';

export type Resources = StackTemplate['Resources'];
export type Resource = Resources[string];

/**
 * Types of resources with data or a known address, and their properties that an update must not
 * change: CloudFormation would replace the resource, reject the update, or generate another secret.
 * @see AWS CloudFormation template reference, "Update requires" of each property
 */
export const fixedProperties: Record<string, readonly string[]> = {
  'AWS::ApiGatewayV2::Api': ['ProtocolType'],
  'AWS::ApiGatewayV2::ApiMapping': ['DomainName'],
  'AWS::ApiGatewayV2::DomainName': ['DomainName'],
  'AWS::ApiGatewayV2::Stage': ['ApiId', 'StageName'],
  'AWS::CloudFront::Distribution': [],
  'AWS::DynamoDB::Table':
    'KeySchema LocalSecondaryIndexes StreamSpecification TableName TimeToLiveSpecification'.split(
      ' ',
    ),
  'AWS::Events::EventBus': ['Name'],
  'AWS::Logs::LogGroup': ['LogGroupClass', 'LogGroupName'],
  'AWS::SecretsManager::Secret': ['GenerateSecretString', 'Name'],
  'AWS::SNS::Topic': ['FifoTopic', 'TopicName'],
  'AWS::SQS::Queue': ['FifoQueue', 'QueueName'],
};

/** Properties that decide what code may be called, and what it has then. */
export const effectiveProperties: Record<string, readonly string[]> = {
  'AWS::DynamoDB::Table': ['AttributeDefinitions', 'GlobalSecondaryIndexes'],
  'AWS::IAM::Policy': ['PolicyDocument', 'PolicyName', 'Roles'],
  'AWS::IAM::Role': ['Policies'],
  'AWS::Lambda::Alias': ['FunctionName', 'FunctionVersion'],
  'AWS::Lambda::Function': ['Environment', 'Role'],
  'AWS::Lambda::Version': ['FunctionName'],
};

/**
 * What a resource or a part of one refers to: logical ids, parameters and pseudo parameters, in
 * alphabetical order.
 */
export function idsIn(part: unknown): string[] {
  const found = new Set<string>();
  JSON.stringify(part, (name, value: unknown) => {
    if (name === 'DependsOn') for (const id of [value].flat()) found.add(String(id));
    if (name === 'Ref') found.add(String(value));
    if (name === 'Fn::GetAtt') found.add(String([value].flat()[0]).replace(/\..*/, ''));
    if (name === 'Fn::Sub')
      for (const [, id = ''] of JSON.stringify(value).matchAll(/\$\{([\w:]+)/g)) found.add(id);
    return value;
  });
  return [...found].sort();
}

/** The only one, or the first, of those. Empty when there is none. */
export const idIn = (part: unknown): string => idsIn(part)[0] ?? '';

export const ofType = (resources: Resources, type: string): [string, Resource][] =>
  Object.entries(resources).filter(([, { Type }]) => Type === type);

/**
 * The ids of these resources and of all that they refer to, directly or by others, which come
 * first.
 */
export function withAllTheyNeed(resources: Resources, ids: string[]): Set<string> {
  const found = new Set<string>();
  const visit = (id: string): void => {
    const resource = resources[id];
    if (!resource || found.has(id)) return;
    idsIn(resource).forEach(visit);
    found.add(id);
  };
  ids.forEach(visit);
  return found;
}
