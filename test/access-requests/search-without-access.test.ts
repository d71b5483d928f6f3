import { expect, test } from '@jest/globals';
import { startServiceWithStore } from '../support/store-and-service.ts';

const own = await startServiceWithStore();

test('without access, reviews by an actor are not even read: their number cannot be timed', async () => {
  const account = own.service.demo.other_account;
  for (const id of [own.service.demo.access_request_id, 999_999_999]) {
    await own.service.search('', { account });
    own.proxy.forget();
    expect((await own.service.search('?actor_id=z', { account, path: 'reviews', id })).status).toBe(403);
    expect(own.proxy.calls().map(({ operation }) => operation)).toEqual(['GetItem']);
  }
});
