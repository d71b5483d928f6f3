import type { CfnResource } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/**
 * The template's resource of a construct, for properties that the construct itself does not offer.
 * @throws Error when it has another type; the property would be silently missing
 */
export function resourceOf<Resource extends CfnResource>(
  construct: Construct,
  type: abstract new (...parameters: never[]) => Resource,
): Resource {
  const { defaultChild } = construct.node;
  if (defaultChild instanceof type) return defaultChild;
  throw new Error(`${construct.node.path} is no ${type.name}.`);
}
