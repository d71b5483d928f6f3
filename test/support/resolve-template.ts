import * as v from 'valibot';
import type { Resource, Resources } from '../upgrade/resources.ts';

/** Where a stack is. */
export interface Place {
  partition: string;
  region: string;
  stack: string;
}

export const account = '123456789012';

/** The name that CloudFormation gives a resource, cut to what its service allows. */
const generated = (stack: string, id: string, most: number): string =>
  `${stack}-${id}-${'R'.repeat(13)}`.slice(0, most);

const named = (given: unknown, otherwise: string): string =>
  typeof given === 'string' ? given : otherwise;

/** The services of resources, and the part of an ARN after the account, at its longest. */
const endsOfArns: Record<
  string,
  (stack: string, id: string, properties: Resource['Properties']) => [service: string, end: string]
> = {
  'AWS::CloudFormation::Stack': (stack, id) => [
    'cloudformation',
    `stack/${generated(stack, id, 128)}/${'0'.repeat(36)}`,
  ],
  'AWS::CodeDeploy::Application': (stack, _, { ApplicationName }) => [
    'codedeploy',
    `application:${named(ApplicationName, stack)}`,
  ],
  'AWS::DynamoDB::Table': (stack, id) => ['dynamodb', `table/${generated(stack, id, 255)}`],
  'AWS::Events::Archive': (_, id, { ArchiveName }) => [
    'events',
    `archive/${named(ArchiveName, id)}`,
  ],
  'AWS::Events::EventBus': (_, id, { Name }) => ['events', `event-bus/${named(Name, id)}`],
  'AWS::Events::Rule': (stack, id) => ['events', `rule/${generated(stack, id, 64)}`],
  'AWS::IAM::Role': (stack, id) => ['iam', `role/${generated(stack, id, 64)}`],
  'AWS::Lambda::Function': (stack, id, { FunctionName }) => [
    'lambda',
    `function:${named(FunctionName, generated(stack, id, 64))}`,
  ],
  'AWS::Logs::LogGroup': (stack, id, { LogGroupName }) => [
    'logs',
    `log-group:${named(LogGroupName, generated(stack, id, 512))}:*`,
  ],
  'AWS::SNS::Topic': (stack, id) => ['sns', generated(stack, id, 256)],
  'AWS::SQS::Queue': (stack, id) => ['sqs', generated(stack, id, 80)],
  'AWS::SecretsManager::Secret': (_, id) => [
    'secretsmanager',
    `secret:${id}-${'R'.repeat(12)}-${'R'.repeat(6)}`,
  ],
};

/** The ARN of a resource; undefined for a type whose names nobody knows beforehand. */
export function arnOf(
  id: string,
  resource: Resource,
  { partition, region, stack }: Place,
): string | undefined {
  const found = endsOfArns[resource.Type]?.(stack, id, resource.Properties);
  if (!found) return undefined;
  const [service, end] = found;
  return `arn:${partition}:${service}:${service === 'iam' ? '' : region}:${account}:${end}`;
}

const refSchema = v.strictObject({ Ref: v.string() });
const attributeSchema = v.strictObject({ 'Fn::GetAtt': v.tuple([v.string(), v.string()]) });
const joinSchema = v.strictObject({
  'Fn::Join': v.tuple([v.literal(''), v.array(v.unknown())]),
});
const intrinsicSchema = v.union([refSchema, attributeSchema, joinSchema]);

/**
 * A part of a template as JSON, with the text that each intrinsic function stands for: pseudo
 * parameters, and names and ARNs as CloudFormation would choose them.
 * @throws Error when it names a resource of an unknown type
 */
export function resolved(part: unknown, resources: Resources, place: Place): string {
  const { partition, region, stack } = place;
  const pseudoParameters: Record<string, string> = {
    'AWS::AccountId': account,
    'AWS::Partition': partition,
    'AWS::Region': region,
    'AWS::StackId': `arn:${partition}:cloudformation:${region}:${account}:stack/${stack}/${'0'.repeat(36)}`,
    'AWS::StackName': stack,
    'AWS::URLSuffix': 'amazonaws.com',
  };
  const arnIn = (id: string): string => {
    const resource = resources[id];
    const arn = resource && arnOf(id, resource, place);
    if (!arn) throw new Error(`What ${id} stands for is unknown.`);
    return arn;
  };
  const textOf = (one: unknown): string => {
    // The name of a resource is never in a policy, but that of a secret, which is its ARN.
    if (v.is(refSchema, one)) return pseudoParameters[one.Ref] ?? arnIn(one.Ref);
    if (v.is(joinSchema, one)) return one['Fn::Join'][1].map(textOf).join('');
    if (!v.is(attributeSchema, one)) return v.parse(v.string(), one);
    const [id, attribute] = one['Fn::GetAtt'];
    return attribute === 'StreamArn' ? `${arnIn(id)}/stream/2026-01-31T08:00:00.000` : arnIn(id);
  };
  return JSON.stringify(part, (_, one: unknown) =>
    v.is(intrinsicSchema, one) ? textOf(one) : one,
  );
}
