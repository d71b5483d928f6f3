import assert from 'node:assert/strict';
import { EventBridgeClient, PutRuleCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { localAws } from '../../infra/operator/call/invoke-function.ts';
import { problemsOf } from '../support/bus-stand-in.ts';
import type { Service } from '../support/service.ts';
import { account } from './ministack.ts';

/** How often the queue is asked; each time it waits for up to five seconds. */
const mostLooks = 12;

/**
 * Adds an approval and finds it in a queue, behind a rule of the bus. The queue and the rule stay.
 * @throws AssertionError
 */
export async function findApproval(
  service: Service,
  endpoint: string,
  busName: string,
): Promise<void> {
  const at = localAws({ url: endpoint, secret_access_key: 'test' });
  const [bus, sqs] = [new EventBridgeClient(at), new SQSClient(at)];
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'approvals' }));
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }),
  );
  const rule = { EventBusName: busName, Name: 'approvals' };
  const pattern = { 'detail-type': ['event.added'], detail: { status: ['approved'] } };
  await bus.send(new PutRuleCommand({ ...rule, EventPattern: JSON.stringify(pattern) }));
  const { FailedEntryCount } = await bus.send(
    new PutTargetsCommand({
      EventBusName: busName,
      Rule: rule.Name,
      Targets: [{ Id: 'queue', Arn: Attributes?.QueueArn }],
    }),
  );
  assert.equal(FailedEntryCount, 0);

  const { id } = (await service.createAccessRequest()).body;
  const content = { actor_type: 'custom', actor_id: 'desk', comment: 'Fine.' };
  await service.addEvent('reviews', { ...content, status: 'rejected' }, { id });
  await service.addEvent('reviews', { ...content, status: 'approved' }, { id });

  for (let look = 0; look < mostLooks; look += 1) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 5 }),
    );
    const [message] = Messages;
    if (!message) continue;
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle }));
    const {
      account: of,
      source,
      'detail-type': DetailType,
      detail,
    } = JSON.parse(message.Body ?? '');
    assert.deepEqual(
      { of, source, DetailType },
      { of: account, source: 'login-service', DetailType: 'event.added' },
    );
    assert.deepEqual(problemsOf({ DetailType, Detail: detail }), []);
    assert.partialDeepStrictEqual(detail, {
      access_request_id: id,
      event_id: 2,
      status: 'approved',
    });
    return;
  }
  assert.fail('The approval did not come.');
}
