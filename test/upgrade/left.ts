import type { Demo } from '../../infra/local/demo.ts';
import type { Answer } from '../support/service.ts';

export interface Login {
  subject: string;
  provider: string;
  id: string;
  session: string;
  access_token: string;
  refresh_token: string;
}

/**
 * What clients and operators hold of a service that was used: tokens, ids, and answers that stay
 * true.
 */
export interface Left {
  demo: Demo;
  people: Record<string, Login>;
  /** A login with the linked identity of alice. */
  second: Login;
  identityId: string;
  /** Somebody with a linked identity, whom `kept` is to get, or has got where the version merges. */
  givenUp: Login;
  isMerged: boolean;
  appToken: string;
  longLived: { token: string; token_id: string };
  devices: Record<string, string>;
  accessRequestId: number;
  /** Ids of events, by what created them. */
  events: Record<'comments' | 'reviews', number>;
  secondSecret: string;
  reader: Demo['account'];
  disabled: Demo['account'];
  /** A client that may only introspect. */
  limited: Demo['login_app'];
  /** What was answered, by what was asked. */
  answers: Record<string, unknown>;
}

export const providers = [
  'provider_a',
  'provider_b',
  'provider_c',
  'provider_d',
  'provider_e',
  'provider_f',
];

export const withKey = (name: string) => ({ headers: { 'idempotency-key': `the key of ${name}` } });
const comment = { actor_type: 'custom', actor_id: 'risk-desk', comment: 'A page is missing.' };
/** The bodies that are posted, by their path. */
export const drafts = { comments: comment, reviews: { ...comment, status: 'approved' } } as const;

export const phone = (name: string) => ({ platform: 'android', token: `push-token-of-${name}` });
export const installed = { ...phone('installed'), installation_id: 'an-installation' };

/** A file of one line, as the command line sends it. */
export const lineOf = (value: object) => [{ line: 1, text: JSON.stringify(value), repetition: 0 }];

/**
 * The body of an answer.
 * @throws Error when its status is another one
 */
export function expecting(expected: number, { status, body, text }: Answer): Answer['body'] {
  if (status !== expected) throw new Error(`${status} came instead of ${expected}: ${text}`);
  return body;
}
