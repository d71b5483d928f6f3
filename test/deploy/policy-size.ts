import { type Place, resolved } from '../support/resolve-template.ts';
import type { Resources } from '../upgrade/resources.ts';

/** Where names and ARNs are longest: a deployment may have 40 characters. */
export const longestPlace: Place = {
  partition: 'aws-us-gov',
  region: 'ap-southeast-1',
  stack: 'n'.repeat(40),
};

/**
 * The size of a policy as IAM counts it: without white space, with the longest names and ARNs.
 * @see IAM user guide, "IAM and AWS STS quotas": IAM doesn't count white space
 */
export const sizeOf = (document: unknown, resources: Resources): number =>
  resolved(document, resources, longestPlace).replaceAll(/\s/g, '').length;
