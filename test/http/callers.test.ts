import { describe, test } from '@jest/globals';
import { readFunctions } from '../../infra/endpoints.ts';
import type { AnyEndpoint } from '../../lib/http/endpoint.ts';
import { eventOf, requestOf } from '../support/event-files.ts';
import { expectError } from '../support/expectations.ts';
import { newPerson } from '../support/people.ts';
import { basic, sharedService } from '../support/service.ts';

const service = sharedService();
const { account, login_app, other_account, other_login_app } = service.demo;
const appToken = await service.loginAppToken();
const person = await newPerson(service);

type Headers = Record<string, string>;
const byAuthorization = (values: Record<string, string>): Record<string, Headers> =>
  Object.fromEntries(
    Object.entries(values).map(([what, authorization]) => [what, { authorization }]),
  );
const wrongTokens = {
  'an empty header': '',
  'no token': 'Bearer',
  'a token without a scheme': 'abc',
  'another scheme': 'Basic abc',
  garbage: 'Bearer abc',
  '8 kB of garbage': `Bearer ${'a'.repeat(8_000)}`,
  'two tokens': 'Bearer a b',
  'two tokens with a comma': 'Bearer a, Bearer b',
  'the token __proto__': 'Bearer __proto__',
  'a refresh token': `Bearer ${person.refreshToken}`,
};
/** The id and the secret of a caller, and wrong ones. */
const wrongPairs = ([id, secret]: Pair, unknownId: string, otherSecret: string, otherKind: Pair) =>
  byAuthorization({
    'a token': `Bearer ${appToken}`,
    'a malformed token': 'Bearer a b',
    'no token': 'Bearer',
    'no pair': 'Basic',
    'a wrong secret': basic(id, `${secret}x`),
    'the secret of another': basic(id, otherSecret),
    'no secret': basic(id, ''),
    'an unknown id': basic(unknownId, secret),
    'the id __proto__': basic('__proto__', secret),
    'a caller of the other kind': basic(...otherKind),
  });
type Pair = [id: string, secret: string];
const client: Pair = [login_app.client_id, login_app.client_secret];
const accountPair: Pair = [account.account_id, account.account_secret];
const unknownClient = `${login_app.login_app_id}.c_${'A'.repeat(22)}`;

/** Headers that authenticate no caller of a scheme. */
const wrongHeaders: Record<string, Record<string, Headers>> = {
  login_app_token: {
    ...byAuthorization({ ...wrongTokens, 'a Login User Token': `Bearer ${person.token}` }),
    'another header': { authentication: `Bearer ${appToken}` },
  },
  login_user_token: {
    ...byAuthorization({ ...wrongTokens, 'a Login App Token': `Bearer ${appToken}` }),
    'garbage in the other header': { authentication: 'Bearer abc' },
    'another scheme in the other header': { authentication: 'Basic abc' },
  },
  login_app_client: wrongPairs(client, unknownClient, other_login_app.client_secret, accountPair),
  account: wrongPairs(accountPair, `ac_${'A'.repeat(22)}`, other_account.account_secret, client),
};
const endpoints = [...readFunctions().endpoints].filter(
  ([, { authenticate }]) => authenticate.error,
);

/**
 * The error for such headers. Where a token authenticates, too, a bad one gets the challenge of
 * tokens.
 */
function errorFor(
  { error, alternative }: AnyEndpoint['authenticate'],
  { authorization = '' }: Headers,
) {
  const sendsToken = authorization.startsWith('Bearer') && alternative === 'recipients_token';
  return { status: 401, error: sendsToken ? 'invalid_token' : (error?.code ?? '') };
}

describe.each(endpoints)('%s', (key, { authenticate }) => {
  const { path, init } = requestOf(eventOf(key));
  const { authorization: _, ...headers } = Object(init.headers);
  const wrong = { 'no header': {}, ...wrongHeaders[authenticate.scheme] };

  test.each(Object.entries(wrong))(
    '%s: 401, whatever the rest of the request',
    async (_, credentials) => {
      const request = { ...init, headers: { ...headers, ...credentials } };
      const malformed = { ...request, ...(init.method === 'POST' && { body: '{' }) };
      for (const answer of [
        await service.call(path, request),
        await service.call(`${path}?x=1&x=2`, malformed),
      ])
        expectError(answer, errorFor(authenticate, credentials));
    },
  );
});
