import { ArnFormat, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { CfnPermission } from 'aws-cdk-lib/aws-lambda';
import { FilterPattern, LogGroup, SubscriptionFilter } from 'aws-cdk-lib/aws-logs';
import { LambdaDestination } from 'aws-cdk-lib/aws-logs-destinations';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import { allow, allowKey } from './rights.ts';
import { deadLetterQueue, removalPolicyOf, removalPolicyOnceUsed } from './service-data.ts';
import { type Deployment, logGroupNameOf, type ServiceFunction } from './service-function.ts';

/**
 * The audit log group, and the way of the lines into it. Functions write an audit line to their own log, so a request waits for
 * nothing. CloudWatch delivers those lines to the forwarder, which alone may write to the group; nothing in the stack may delete
 * from it. What can't be delivered stays in a queue, and an alarm goes off.
 */
export class AuditTrail extends Construct {
  readonly logGroup: LogGroup;
  /** Deliveries that failed three times. */
  readonly undelivered: Queue;
  readonly #destination: LambdaDestination;
  readonly #permission: CfnPermission;

  constructor(scope: Construct, id: string, { lambda }: ServiceFunction, { settings, key }: Deployment) {
    super(scope, id);
    const stack = Stack.of(this);
    this.logGroup = new LogGroup(this, 'Log', {
      // CloudFormation chooses its name: a group that was retained must not be in the way of a new stack.
      retention: settings.auditRetentionDays,
      ...definedOnly({ encryptionKey: key }),
      removalPolicy: removalPolicyOf(settings),
      deletionProtectionEnabled: removalPolicyOf(settings) === RemovalPolicy.RETAIN,
    });
    // Unlike the log, nothing protects it from a first deployment that fails and is rolled back.
    const removalPolicy = removalPolicyOnceUsed(settings);
    this.undelivered = deadLetterQueue(this, 'Undelivered', key, { removalPolicy });
    allow(lambda, ['logs:CreateLogStream', 'logs:PutLogEvents'], [this.logGroup.logGroupArn]);
    allow(lambda, ['sqs:SendMessage'], [this.undelivered.queueArn]);
    allowKey(lambda, key, 'write', 'sqs');
    lambda.addEnvironment('AUDIT_LOG_GROUP', this.logGroup.logGroupName);
    lambda.configureAsyncInvoke({
      onFailure: { bind: () => ({ destination: this.undelivered.queueArn }) },
    });
    // One for the logs of all functions of the stack.
    this.#permission = new CfnPermission(this, 'Deliveries', {
      action: 'lambda:InvokeFunction',
      functionName: lambda.functionArn,
      principal: 'logs.amazonaws.com',
      sourceAccount: stack.account,
      sourceArn: logGroupArn(stack, logGroupNameOf(this, '*')),
    });
    this.#destination = new LambdaDestination(lambda, { addPermissions: false });
  }

  /** Takes the audit lines of a function into the group, in a stream with the function's name. */
  of({ key, log }: ServiceFunction): void {
    const filter = new SubscriptionFilter(this, key, {
      logGroup: log,
      filterName: `${Stack.of(this).stackName}-audit`,
      filterPattern: FilterPattern.stringValue('$.event', '=', 'audit'),
      destination: this.#destination,
    });
    // CloudWatch Logs tries the delivery first.
    filter.node.addDependency(this.#permission);
  }
}

/** The ARN of a log group, without the wildcard that its attribute ends in. */
export const logGroupArn = (stack: Stack, resourceName: string): string =>
  stack.formatArn({
    service: 'logs',
    resource: 'log-group',
    resourceName,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
