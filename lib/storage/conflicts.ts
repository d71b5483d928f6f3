import { setTimeout as wait } from 'node:timers/promises';
import {
  ConditionalCheckFailedException,
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
} from '@aws-sdk/client-dynamodb';

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
 * @throws the error of the store, in the end also the one about the conflict
 * @see Amazon DynamoDB developer guide, "Transaction conflict handling in DynamoDB"
 */
export async function repeatConflicts<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) throw withAttempts(error, attempt);
      if (!isConflict(error) || attempt === mostAttempts) throw error;
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

/**
 * Whether a write was not made because a transaction was under way, or the table too busy for one.
 */
export function isConflict(error: unknown): boolean {
  if (error instanceof TransactionConflictException) return true;
  if (error instanceof TransactionInProgressException) return true;
  if (!(error instanceof TransactionCanceledException)) return false;
  const codes = (error.CancellationReasons ?? []).map(({ Code = 'None' }) => Code);
  // A failed condition may be due to what the other transaction has not finished, so it is no
  // answer yet.
  return codes.some((code) => passingReasons.includes(code));
}
