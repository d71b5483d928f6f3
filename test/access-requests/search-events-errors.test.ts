import { describe, expect, test } from '@jest/globals';
import { expectError } from '../support/expectations.ts';
import { createAccount } from '../support/login-app.ts';
import { sharedService } from '../support/service.ts';

const service = sharedService();
const { demo, operate } = service;

const id = (await service.createAccessRequest()).body.id;

const notNumbers = [
  '',
  '1'.repeat(30),
  ...'0 -1 1.5 abc 1e3 0x1 %20 +1 1%00 null ٣ 1,2'.split(' '),
];
const ones = (count: number) => Array(count).fill(1).join();
/** Wrong values of each parameter. */
const wrong: Record<string, string[]> = {
  page: [...notNumbers, '1&page=2', '1&page=1', '10000000000000'],
  page_size: [...notNumbers, '101', '8&page_size=8'],
  ids: [
    '',
    '1 2',
    ...', 1, ,1 1,,2 a 1,b 0 1,0 -1 1.5 1;2 [1] 1%00'.split(' '),
    ones(101),
    Array.from({ length: 101 }, (_, index) => index + 1).join(),
    `${ones(60)}&ids=${ones(60)}`,
    '1&ids=',
  ],
  actor_type: [
    '',
    ...'user LOGIN_USER __proto__ constructor custom&actor_type=custom custom,login_user'.split(
      ' ',
    ),
  ],
  order: ['', ...'ASC descending asc,desc __proto__ asc&order=asc'.split(' ')],
  actor_id: ['', 'a&actor_id=b'],
};
const wrongQueries = Object.entries(wrong).flatMap(([name, values]) =>
  values.map((value) => [`${name}=${value}`, name] as const),
);

const search = (query: string, path: string) => service.search(query, { id, path });

describe.each(['events', 'reviews'])(
  'GET /v1/rbac/access_requests/{access_request_id}/%s',
  (path) => {
    describe('400 for a bad parameter, which is named', () => {
      test.each(wrongQueries)('%.60s', async (query, name) => {
        const naming = new RegExp(`\\b${name}\\b`);
        expectError(await search(`?${query}`, path), {
          status: 400,
          error: 'invalid_request',
          naming,
        });
      });

      test.each(['pagesize', 'ids[]', 'status', 'access_request_id', '__proto__', 'constructor'])(
        'the mistyped filter %s does not return everything',
        async (name) => {
          const naming = `Unknown query parameter ${name}. Allowed: type, actor_type, actor_id, ids, order, page, page_size.`;
          const answer = await search(`?page=1&${name}=1`, path);
          expectError(answer, { status: 400, error: 'invalid_request', naming });
        },
      );

      test.each(['<script>ids', 'a b', 'ids?', 'x'.repeat(65)])(
        'the filter %s, which is no name: the error does not repeat it',
        async (name) => {
          const naming =
            'Unknown query parameter. Allowed: type, actor_type, actor_id, ids, order, page, page_size.';
          const answer = await search(`?${encodeURIComponent(name)}=1`, path);
          expectError(answer, { status: 400, error: 'invalid_request', naming });
        },
      );

      test.each([
        'abc',
        '0',
        '-1',
        '1.5',
        '1e3',
        '%20',
        '1'.repeat(30),
        '__proto__',
        'constructor',
        '%00',
      ])('the access_request_id %.40s', async (accessRequestId) => {
        const answer = await service.search('', { id: accessRequestId, path });
        expectError(answer, { status: 400, error: 'invalid_request', naming: /access_request_id/ });
      });
    });

    test('403 without access; it counts at once when granted, and ends at once when revoked', async () => {
      const forbidden = { status: 403, error: 'forbidden', naming: /no access/ };
      const account = await createAccount(service);
      const flags = { 'access-request': id, account: account.account_id };
      expectError(await service.search('', { id, path, account }), forbidden);
      await operate('access-requests', 'grant', flags);
      expect((await service.search('', { id, path, account })).status).toBe(200);
      await operate('access-requests', 'revoke', flags);
      expectError(await service.search('', { id, path, account }), forbidden);
    });

    test('an account id and secret that are form-encoded count', async () => {
      const [account_id = '', account_secret = ''] = [
        demo.account.account_id,
        demo.account.account_secret,
      ].map((text) => text.replace('_', '%5F'));
      expect(
        (await service.search('', { id, path, account: { account_id, account_secret } })).status,
      ).toBe(200);
    });
  },
);
