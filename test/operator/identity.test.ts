import { describe, expect, test } from '@jest/globals';
import { proveIdentity } from '../../infra/operator/call/call-operator.ts';
import { invokeFunction } from '../../infra/operator/call/invoke-function.ts';
import { auditLines } from '../support/log-lines.ts';
import { operatorOf } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { running } = await sharedServiceWithStore();
const target = operatorOf(running.directory);
const command = { noun: 'accounts', verb: 'create', flags: { name: 'Back office' } };

const call = (proof: unknown, flags: object = command.flags) =>
  invokeFunction(target, { ...command, flags, proof });
const notProven = {
  error: 'The call does not prove who makes it. Use npm run operator, with a clock that is right.',
};

/** A proof whose query was changed. */
async function changedProof(change: (query: URLSearchParams) => void): Promise<string> {
  const query = new URLSearchParams(await proveIdentity(target, command));
  change(query);
  return query.toString();
}

describe('an operator proves who they are', () => {
  test('a proof of the command: it is carried out, and the line has the ARN that STS knows', async () => {
    const answer = await call(await proveIdentity(target, command));
    expect(answer).toMatchObject({ result: { account_id: expect.stringMatching(/^ac_/) } });
    expect(auditLines(running).at(-1)).toMatchObject({
      command: 'accounts create',
      result: 'done',
      operator: expect.stringMatching(/^arn:aws:iam::000000000000:user\/./),
    });
  });

  test.each([
    [null],
    [7],
    ['accounts create'],
    [[]],
    [{ noun: 'accounts', verb: 'create' }],
    [{ ...command, flags: null }],
    [{ ...command, flags: ['name'] }],
    [{ ...command, noun: ['accounts'] }],
  ])('an event that is no call: %j is rejected, and leaves a line', async (event) => {
    const before = auditLines(running).length;
    expect(await invokeFunction(target, event)).toEqual({
      error: 'The call is malformed. Use npm run operator.',
    });
    const [line, ...others] = auditLines(running).slice(before);
    expect(line).toMatchObject({
      command: 'unknown',
      caller: 'unauthenticated',
      result: 'rejected',
      error: 'invalid_request',
    });
    expect(others).toEqual([]);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['no proof', async () => undefined],
    ['something else', async () => ({ arn: 'arn:aws:iam::000000000000:user/alice' })],
    ['an ARN', async () => 'arn:aws:iam::000000000000:user/alice'],
    [
      "somebody else's name",
      () =>
        changedProof((query) =>
          query.set('X-Amz-Credential', 'alice/20260101/us-east-1/sts/aws4_request'),
        ),
    ],
    ['a proof of another command', () => proveIdentity(target, { ...command, verb: 'rotate' })],
    [
      'a proof of the command with other flags',
      () => proveIdentity(target, { ...command, flags: { name: 'x' } }),
    ],
    [
      'a proof for another stack',
      () => proveIdentity({ ...target, name: 'other-operator' }, command),
    ],
    [
      'another question to STS',
      () => changedProof((query) => query.set('Action', 'GetSessionToken')),
    ],
    ['two questions', () => changedProof((query) => query.append('Action', 'AssumeRole'))],
    ['a parameter that none has', () => changedProof((query) => query.set('RoleArn', 'x'))],
    [
      'a signature that leaves out the command',
      () => changedProof((query) => query.set('X-Amz-SignedHeaders', 'host')),
    ],
    ['a text without end', async () => 'x'.repeat(10_000)],
  ])('%s: nothing happens, and the line names nobody', async (_, proof) => {
    expect(await call(await proof())).toEqual(notProven);
    const line = auditLines(running).at(-1);
    expect(line).toMatchObject({
      command: 'accounts create',
      caller: 'unauthenticated',
      result: 'rejected',
      error: 'unauthorized',
    });
    expect(line).not.toHaveProperty('operator');
  });
});
