import { CfnResource, CustomResource, Duration } from 'aws-cdk-lib';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct, type IDependable } from 'constructs';
import { readableFormats, writtenFormat } from '../../lib/storage/table-format.ts';
import { resourceOf } from './resource-of.ts';
import type { ServiceFunction } from './service-function.ts';

interface TableFormatProps {
  tableName: string;
  /** `functions/guard-table-format.ts` */
  guard: ServiceFunction;
}

/**
 * Keeps code away from a table that it cannot read. With a canary or without, the new code looks at the table's format
 * before any other function is updated, and notes its own format when all are live.
 */
export class TableFormat extends Construct {
  readonly #props: TableFormatProps;

  constructor(scope: Construct, id: string, props: TableFormatProps) {
    super(scope, id);
    this.#props = props;
  }

  /** Updates none of these functions before the format has been checked. */
  checkBefore(functions: readonly ServiceFunction[]): void {
    // CloudFormation asks again whenever a property changes.
    const check = resourceOf(this.#step('check', String(readableFormats)), CfnResource);
    for (const { lambda } of functions) {
      if (lambda !== this.#props.guard.lambda) resourceOf(lambda, CfnFunction).addResourceDependency(check);
    }
  }

  /** Notes the format in which the functions write, once all of these are live. */
  recordAfter(live: readonly IDependable[]): void {
    this.#step('record', String(writtenFormat)).node.addDependency(...live);
  }

  #step(Step: 'check' | 'record', Format: string): CustomResource {
    const { guard, tableName } = this.#props;
    return new CustomResource(this, Step, {
      resourceType: 'Custom::TableFormat',
      serviceToken: guard.lambda.functionArn,
      // Three attempts, with pauses of one and two minutes. Without a response, CloudFormation would wait for an hour.
      serviceTimeout: Duration.minutes(6),
      properties: { Step, Format, TableName: tableName },
    });
  }
}
