import { ArnFormat, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { IDistribution } from 'aws-cdk-lib/aws-cloudfront';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { CfnDelivery, CfnDeliveryDestination, CfnDeliverySource, LogGroup } from 'aws-cdk-lib/aws-logs';
import { CfnLoggingConfiguration, type CfnWebACL } from 'aws-cdk-lib/aws-wafv2';
import { Construct } from 'constructs';

interface EdgeLogsProps {
  distribution: IDistribution;
  webAcl: CfnWebACL;
  /** The name of the edge's deployment. */
  name: string;
  retentionDays: number;
  key: IKey | undefined;
}

/** Fields of CloudFront's access log. Paths hold ids of devices, and queries may hold anything, so neither is among them. */
const recordFields = [
  ...['date', 'time', 'x-edge-location', 'x-edge-request-id', 'c-ip', 'cs-method', 'sc-status'],
  ...[
    'sc-bytes',
    'cs-bytes',
    'time-taken',
    'x-edge-detailed-result-type',
    'cs-protocol-version',
    'ssl-protocol',
  ],
];

const secretHeaders = ['authorization', 'authentication', 'cookie'];

/** The logs of what no function sees: each request with the address of its caller, and those that AWS WAF has blocked. */
export class EdgeLogs extends Construct {
  readonly #props: EdgeLogsProps;

  constructor(scope: Construct, id: string, props: EdgeLogsProps) {
    super(scope, id);
    this.#props = props;
    this.#logRequests();
    this.#logBlocked();
  }

  /** @see Amazon CloudFront developer guide, "Configure standard logging (v2)" */
  #logRequests(): void {
    const { distribution, name } = this.#props;
    const source = new CfnDeliverySource(this, 'Source', {
      name: `${name}-requests`,
      logType: 'ACCESS_LOGS',
      resourceArn: distribution.distributionArn,
    });
    const destination = new CfnDeliveryDestination(this, 'Destination', {
      name: `${name}-requests`,
      outputFormat: 'json',
      destinationResourceArn: this.#logGroup('Requests', `/aws/vendedlogs/${name}/edge`),
    });
    const delivery = new CfnDelivery(this, 'Delivery', {
      deliverySourceName: source.name,
      deliveryDestinationArn: destination.attrArn,
      recordFields,
    });
    delivery.addResourceDependency(source);
  }

  /** @see AWS WAF developer guide, "Sending web ACL traffic logs to an Amazon CloudWatch Logs log group" */
  #logBlocked(): void {
    const { webAcl, name } = this.#props;
    // CloudFormation has no schema of a filter, so the CDK passes it as it is.
    const block = { ActionCondition: { Action: 'BLOCK' } };
    new CfnLoggingConfiguration(this, 'Blocked', {
      resourceArn: webAcl.attrArn,
      logDestinationConfigs: [this.#logGroup('BlockedLog', `aws-waf-logs-${name}`)],
      loggingFilter: {
        DefaultBehavior: 'DROP',
        Filters: [{ Behavior: 'KEEP', Requirement: 'MEETS_ANY', Conditions: [block] }],
      },
      redactedFields: [
        { uriPath: {} },
        { queryString: {} },
        ...secretHeaders.map((header) => ({ singleHeader: { Name: header } })),
      ],
    });
  }

  /** @returns the ARN of a new log group, without the wildcard that its attribute ends in */
  #logGroup(id: string, logGroupName: string): string {
    const { retentionDays, key } = this.#props;
    const group = new LogGroup(this, id, {
      logGroupName,
      retention: retentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
      ...(key && { encryptionKey: key }),
    });
    return Stack.of(this).formatArn({
      service: 'logs',
      resource: 'log-group',
      resourceName: group.logGroupName,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
  }
}
