import { createHash } from 'node:crypto';
import type { OperatorCommand } from './operator-call.ts';

/** The query of the request to STS. @see AWS STS API reference, "GetCallerIdentity" */
export const identityQuestion = { Action: 'GetCallerIdentity', Version: '2011-06-15' } as const;

/** The signed header with the hash of the command, so that a proof is worth nothing for another one. */
export const commandHeader = 'x-login-service-command';

/** The host of STS in a region, which the signature covers too. */
export const stsHost = (region: string): string =>
  `sts.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;

export const hashOfCommand = (functionName: string, { noun, verb, flags }: OperatorCommand): string =>
  createHash('sha256')
    .update(JSON.stringify([functionName, noun, verb, flags]))
    .digest('hex');
