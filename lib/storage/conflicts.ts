import { setTimeout as wait } from 'node:timers/promises';
import {
  ConditionalCheckFailedException,
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
} from '@aws-sdk/client-dynamodb';
import { ServiceError } from '../foundation/service-error.ts';

/** The most times that a write is sent. Together with the pauses, that takes about 3 s. */
const mostAttempts = 16;
/** The most milliseconds before the second attempt; doubled before each further one. */
const firstPause = 50;
const longestPause = 500;

/** The reasons of a cancelled transaction that are no answer, but a matter of time. */
const passingReasons = [
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
  'RequestLimitExceeded',
];

/**
 * Sends a write. One that meets a transaction on the same item is not made; it is sent again after
 * a random pause, as the SDK does when the store throttles.
 *
 * The `attempts` of a `ConditionalCheckFailedException` count all attempts, so that a caller knows
 * whether an earlier one may have been made without an answer.
 * @throws the error of the store; ServiceError `temporarily_unavailable` if the conflict does not end
 * @see Amazon DynamoDB developer guide, "Transaction conflict handling in DynamoDB"
 */
export async function repeatConflicts<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) throw withAttempts(error, attempt);
      if (!isConflict(error)) throw error;
      if (attempt === mostAttempts) throw othersWrite('Too many are writing the same at once.');
      const mostPause = Math.min(firstPause * 2 ** (attempt - 1), longestPause);
      await wait(Math.random() * mostPause);
    }
  }
}

function withAttempts(error: ConditionalCheckFailedException, sent: number) {
  const { attempts = 1 } = error.$metadata;
  error.$metadata.attempts = attempts + sent - 1;
  return error;
}

/** The error for a write that others have kept from being made. */
export const othersWrite = (busy: string): ServiceError =>
  new ServiceError('temporarily_unavailable', `${busy} Try again.`, 'others_write');

/** Whether others have kept a write from being made. */
export const isOthersWrite = (error: unknown): boolean =>
  error instanceof ServiceError && error.detail.reason === 'others_write';

/**
 * Whether a write was not made because a transaction was under way, or the table too busy for one.
 */
function isConflict(error: unknown): boolean {
  if (error instanceof TransactionConflictException) return true;
  if (error instanceof TransactionInProgressException) return true;
  if (!(error instanceof TransactionCanceledException)) return false;
  const codes = (error.CancellationReasons ?? []).map(({ Code = 'None' }) => Code);
  // A failed condition may be due to what the other transaction has not finished, so it is no
  // answer yet.
  return codes.some((code) => passingReasons.includes(code));
}
