import { expect } from '@jest/globals';
import type { Answer } from './service.ts';

/** Every answer of an endpoint: JSON that no cache keeps, with an id to ask about. */
function expectHeaders({ headers }: Answer): void {
  expect(headers.get('content-type')).toMatch(/^application\/json\b/);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('pragma')).toBe('no-cache');
  expect(headers.get('x-request-id')).toMatch(/^\S+$/);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(
    Number(headers.get('strict-transport-security')?.match(/^max-age=(\d+)/)?.[1]),
  ).toBeGreaterThan(31_535_999);
}

/** An answer that does what was asked: its status, exactly this body, and no challenge. */
export function expectAnswer(answer: Answer, status: number, body: unknown): void {
  expect({ status: answer.status, body: answer.body }).toEqual({ status, body });
  expectHeaders(answer);
  expect(answer.headers.get('www-authenticate')).toBeNull();
}

interface ExpectedError {
  status: number;
  error: string;
  naming?: RegExp | string;
  /** The fields that `errors` must name, for 422 alone. */
  fields?: string[];
  /** Fields of this error alone. */
  further?: Record<string, unknown>;
}

/** The scheme that would work, which a 401 must name. */
const challenges = new Map([
  ['invalid_client', /^Basic realm=/],
  ['unauthorized', /^Basic realm=/],
  [
    'insufficient_user_authentication',
    /^Bearer realm="[^"]+", error="insufficient_user_authentication", error_description="[^"]+", (max_age=\d+|acr_values="[^"]+")$/,
  ],
  ['invalid_token', /^Bearer realm="[^"]+"(, error="invalid_token")?$/],
]);

/** An error response: exactly this body, and for 401 the scheme that would work. */
export function expectError(
  answer: Answer,
  { status, error, naming = /./, fields, further }: ExpectedError,
): void {
  const error_description = naming instanceof RegExp ? expect.stringMatching(naming) : naming;
  const errors = fields?.map((field) => ({ field, message: expect.stringMatching(/./) }));
  expect({ status: answer.status, body: answer.body }).toEqual({
    status,
    body: { error, error_description, ...(errors && { errors }), ...further },
  });
  expectHeaders(answer);
  const challenge = answer.headers.get('www-authenticate');
  if (status === 401)
    expect(challenge).toMatch(challenges.get(error) ?? 'a challenge for this error');
  else expect(challenge).toBeNull();
}

export const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

export const tokenResponse = {
  access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
  token_type: 'bearer',
  expires_in: 3600,
  refresh_token: expect.stringMatching(/^rt\./),
  refresh_token_expires_in: expect.any(Number),
};
