/**
 * The settings that a deployed stack keeps: another value would be a mix-up in almost every case. `change` names those
 * that a deployment changes on purpose.
 */
export const pins = ['deployment', 'stage', 'domainName', 'tableName'] as const;
export type Pin = (typeof pins)[number];
