import * as v from 'valibot';
import { ago } from '../foundation/clock.ts';
import { described } from '../schema/json-schema.ts';
import { unprocessableEntity } from '../schema/validation.ts';
import { hashOf } from '../storage/keys.ts';

const longestKey = 255;
const keyMessage = `The header Idempotency-Key must have 1 to ${longestKey} characters.`;

/**
 * The `Idempotency-Key` header.
 * @see draft-ietf-httpapi-idempotency-key-header
 */
export const idempotencyKeySchema = described(
  v.optional(v.pipe(v.string(), v.minLength(1, keyMessage), v.maxLength(longestKey, keyMessage))),
  'A text that you make up for one request, such as a UUID. The same request with the same key gets the same response for 24 hours.',
);

/** Seconds for which a key gets the same answer. After that it counts as new. */
export const keyLifetimeSeconds = 24 * 60 * 60;

export const hashOfKey = (accountId: string, key: string): string =>
  hashOf('account', accountId, key);

/** The earliest use, ISO 8601, of a key that still counts. */
export const keysCountSince = (): string => ago(keyLifetimeSeconds * 1000);

const usedAlready = 'The Idempotency-Key was used for another request within the last 24 hours.';

export const usedForAnother = () =>
  unprocessableEntity([{ field: 'Idempotency-Key', message: usedAlready }]);
