import { ServiceError } from '../foundation/service-error.ts';
import { requireAccess } from './access.ts';
import { appendEvents } from './append-events.ts';
import type { AccessRequestEvent, Writer } from './event.ts';
import { hashOfKey, keysCountSince } from './idempotency.ts';
import type { NewEvent } from './new-event.ts';

/**
 * Adds an event for an account. A request that is repeated with its `Idempotency-Key` within 24 hours gets the
 * event of the first one, even when both arrive at once.
 * @throws ServiceError `forbidden` when the account has no access, or there is no such access request,
 *   `unprocessable_entity` when the key came with another event
 */
export async function addEventFor(
  accountId: string,
  accessRequestId: number,
  body: NewEvent,
  idempotencyKey: string | undefined,
): Promise<AccessRequestEvent> {
  await requireAccess(accountId, accessRequestId);
  const writer = { account_id: accountId };
  if (idempotencyKey === undefined) return addEvent(accessRequestId, body, writer);
  const draft = {
    event: body,
    writer,
    idempotencyKey: hashOfKey(accountId, idempotencyKey),
    keyCountsSince: keysCountSince(),
  };
  const [appended] = await appendEvents(accessRequestId, [draft]);
  if (!appended || !hasContent(appended.event, body)) throw usedForAnother();
  return appended.event;
}

export async function addEvent(accessRequestId: number, event: NewEvent, writer: Writer) {
  const [appended] = await appendEvents(accessRequestId, [{ event, writer }]);
  if (!appended) throw new Error('The event was not added.');
  return appended.event;
}

const hasContent = (event: AccessRequestEvent, body: NewEvent): boolean => {
  const stored = new Map(Object.entries(event));
  return Object.entries(body).every(([field, value]) => stored.get(field) === value);
};

function usedForAnother(): ServiceError {
  const message = 'The Idempotency-Key was used for another request within the last 24 hours.';
  return new ServiceError('unprocessable_entity', message, {
    errors: [{ field: 'Idempotency-Key', message }],
  });
}
