import * as v from 'valibot';
import type { Resource, Resources } from '../upgrade/resources.ts';

/** The longest that a deployment may have: CloudFormation puts it before the ids of resources. */
export const longestStackName = 'n'.repeat(40);
export const longestRegion = 'ap-southeast-1';
const account = '123456789012';

const pseudoParameters: Record<string, string> = {
  'AWS::AccountId': account,
  'AWS::Partition': 'aws-us-gov',
  'AWS::Region': longestRegion,
  'AWS::StackName': longestStackName,
  'AWS::URLSuffix': 'amazonaws.com',
};

const arn = (service: string, resource: string): string =>
  `arn:aws-us-gov:${service}:${longestRegion}:${account}:${resource}`;

/** The name that CloudFormation gives a resource, cut to what its service allows. */
const generated = (id: string, most: number): string =>
  `${longestStackName}-${id}-${'R'.repeat(13)}`.slice(0, most);

/** What `Ref` and `Fn::GetAtt` give for a resource of a type that policies name, at its longest. */
const textsOf: Record<string, (id: string, resource: Resource) => { ref: string; arn: string }> = {
  'AWS::DynamoDB::Table': (id) => {
    const name = generated(id, 255);
    return { ref: name, arn: arn('dynamodb', `table/${name}`) };
  },
  'AWS::Events::EventBus': () => ({
    ref: longestStackName,
    arn: arn('events', `event-bus/${longestStackName}`),
  }),
  'AWS::Lambda::Function': (id) => {
    const name = generated(id, 64);
    return { ref: name, arn: arn('lambda', `function:${name}`) };
  },
  'AWS::Logs::LogGroup': (id, { Properties: { LogGroupName } }) => {
    const name = typeof LogGroupName === 'string' ? LogGroupName : generated(id, 512);
    return { ref: name, arn: arn('logs', `log-group:${name}:*`) };
  },
  'AWS::SecretsManager::Secret': (id) => {
    const secret = arn('secretsmanager', `secret:${id}-${'R'.repeat(12)}-${'R'.repeat(6)}`);
    return { ref: secret, arn: secret };
  },
  'AWS::SQS::Queue': (id) => {
    const name = generated(id, 80);
    return { ref: name, arn: arn('sqs', name) };
  },
};

const refSchema = v.strictObject({ Ref: v.string() });
const attributeSchema = v.strictObject({ 'Fn::GetAtt': v.tuple([v.string(), v.string()]) });
const joinSchema = v.strictObject({
  'Fn::Join': v.tuple([v.literal(''), v.array(v.unknown())]),
});

const intrinsicSchema = v.union([refSchema, attributeSchema, joinSchema]);

/**
 * The size of a policy as IAM counts it: without white space, and with the longest texts that its
 * intrinsic functions can stand for.
 * @throws Error when it names a resource of an unknown type
 * @see IAM user guide, "IAM and AWS STS quotas": IAM doesn't count white space
 */
export function sizeOf(document: unknown, resources: Resources): number {
  const textsOfId = (id: string): { ref: string; arn: string } => {
    const resource = resources[id];
    const texts = resource && textsOf[resource.Type]?.(id, resource);
    if (!texts) throw new Error(`The length of what ${id} stands for is unknown.`);
    return texts;
  };
  const textOf = (part: unknown): string => {
    if (v.is(refSchema, part)) return pseudoParameters[part.Ref] ?? textsOfId(part.Ref).ref;
    if (v.is(attributeSchema, part)) {
      const [id, attribute] = part['Fn::GetAtt'];
      const stream = attribute === 'StreamArn' ? '/stream/2026-01-31T08:00:00.000' : '';
      return `${textsOfId(id).arn}${stream}`;
    }
    if (v.is(joinSchema, part)) return part['Fn::Join'][1].map(textOf).join('');
    return v.parse(v.string(), part);
  };
  const resolved = JSON.stringify(document, (_, part: unknown) =>
    v.is(intrinsicSchema, part) ? textOf(part) : part,
  );
  return resolved.replaceAll(/\s/g, '').length;
}
