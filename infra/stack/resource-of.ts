import type { CfnResource } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/**
 * The resource of the template that a construct stands for, to set what the construct itself does not offer.
 * @throws Error when it is of another type: what is to be set would be missing in silence
 */
export function resourceOf<Resource extends CfnResource>(
  construct: Construct,
  type: abstract new (...parameters: never[]) => Resource,
): Resource {
  const { defaultChild } = construct.node;
  if (defaultChild instanceof type) return defaultChild;
  throw new Error(`${construct.node.path} is no ${type.name}.`);
}
