import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { FilterPattern, LogGroup, SubscriptionFilter } from 'aws-cdk-lib/aws-logs';
import { LambdaDestination } from 'aws-cdk-lib/aws-logs-destinations';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import { allow, allowKey } from './rights.ts';
import { deadLetterQueue, removalPolicyOf, removalPolicyOnceUsed } from './service-data.ts';
import {
  arnOf,
  type Deployment,
  logGroupNameOf,
  type ServiceFunction,
} from './service-function.ts';

/**
 * The audit log group, and how lines get there. A function writes them to its own log, so a request
 * waits for nothing. CloudWatch delivers them to the forwarder, which alone may write to the group;
 * nothing in the stack may delete from it. What can't be delivered stays in a queue, and an alarm
 * goes off.
 */
export class AuditTrail extends Construct {
  readonly logGroup: LogGroup;
  readonly forwarder: IFunction;
  /** Deliveries that failed three times. */
  readonly undelivered: Queue;

  constructor(
    scope: Construct,
    id: string,
    { lambda }: ServiceFunction,
    { settings, key }: Deployment,
  ) {
    super(scope, id);
    this.forwarder = lambda;
    const removalPolicy = removalPolicyOf(settings);
    // CloudFormation chooses its name: a group that was retained must not be in the way of a new
    // stack.
    this.logGroup = new LogGroup(this, 'Log', {
      retention: settings.auditRetentionDays,
      ...definedOnly({ encryptionKey: key }),
      removalPolicy,
      deletionProtectionEnabled: removalPolicy === RemovalPolicy.RETAIN,
    });
    this.undelivered = deadLetterQueue(this, 'Undelivered', key, {
      removalPolicy: removalPolicyOnceUsed(settings),
    });
    allow(lambda, ['logs:CreateLogStream', 'logs:PutLogEvents'], [this.logGroup.logGroupArn]);
    allow(lambda, ['sqs:SendMessage'], [this.undelivered.queueArn]);
    allowKey(lambda, key, 'write', 'sqs');
    lambda.addEnvironment('AUDIT_LOG_GROUP', this.logGroup.logGroupName);
    lambda.configureAsyncInvoke({
      onFailure: { bind: () => ({ destination: this.undelivered.queueArn }) },
    });
    // One for the logs of all functions of the stack.
    lambda.addPermission('Deliveries', {
      scope: this,
      principal: new ServicePrincipal('logs.amazonaws.com'),
      sourceAccount: Stack.of(this).account,
      sourceArn: arnOf(this, 'logs', 'log-group', logGroupNameOf(this, '*')),
    });
  }

  /** Takes the audit lines of a function into the group, in a stream with the function's name. */
  of({ key, log }: ServiceFunction): void {
    const filter = new SubscriptionFilter(this, key, {
      logGroup: log,
      filterName: `${Stack.of(this).stackName}-audit`,
      filterPattern: FilterPattern.stringValue('$.event', '=', 'audit'),
      destination: new LambdaDestination(this.forwarder, { addPermissions: false }),
    });
    // CloudWatch Logs tries the delivery first.
    filter.node.addDependency(this.node.findChild('Deliveries'));
  }
}
