import { expect, test } from '@jest/globals';
import * as v from 'valibot';
import { eventSchema } from '../../lib/access-requests/event.ts';
import {
  longestActorId,
  longestComment,
  newReviewSchema,
} from '../../lib/access-requests/new-event.ts';
import { largestPage } from '../../lib/access-requests/search-request.ts';
import { jsonResponse } from '../../lib/http/answers.ts';

/**
 * Bytes that a function may return: its result as JSON, in which the body is a string that holds
 * JSON itself.
 */
const mostResultBytes = 6_291_556;
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/**
 * Bytes that each character of Unicode takes of a result, by its code point; all beyond U+FFFF take
 * the same.
 */
const costs = Uint8Array.from({ length: 0x10001 }, (_, codePoint) =>
  bytesOf(JSON.stringify(String.fromCodePoint(codePoint))),
);

/** The character that a field takes and that makes a result longest. */
function longestCharacter(field: v.GenericSchema): string {
  let longest = 0;
  for (const [codePoint, cost] of costs.entries()) {
    const isLonger = longest === 0 || cost > (costs[longest] ?? 0);
    if (isLonger && v.is(field, String.fromCodePoint(codePoint))) longest = codePoint;
  }
  return String.fromCodePoint(longest);
}

test('the largest page of a search fits into what a function may return', () => {
  const { actor_id, comment } = newReviewSchema.entries;
  const author = {
    type: 'review',
    actor_type: 'login_user',
    actor_id: longestCharacter(actor_id).repeat(longestActorId),
    comment: longestCharacter(comment).repeat(longestComment),
    status: 'approved',
  };
  expect(v.is(newReviewSchema, author)).toBe(true);
  expect(v.is(newReviewSchema, { ...author, comment: `${author.comment}a` })).toBe(false);
  expect(v.is(newReviewSchema, { ...author, actor_id: `${author.actor_id}a` })).toBe(false);
  const number = Number.MAX_SAFE_INTEGER;
  const time = '2026-01-31T08:00:00.000Z';
  const longest = {
    ...author,
    id: number,
    access_request_id: number,
    created_at: time,
    updated_at: time,
  };
  const results = Array.from({ length: largestPage }, () => v.parse(eventSchema, longest));
  const body = { total: number, offset: number, count: largestPage, results };
  expect(bytesOf(jsonResponse({ status: 200, body }, 'a'.repeat(64)))).toBeLessThan(
    mostResultBytes,
  );
});
