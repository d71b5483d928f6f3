import { AsyncLocalStorage } from 'node:async_hooks';
import * as v from 'valibot';
import type { Access } from '../../lib/http/endpoint.ts';
import { documentClient } from '../../lib/storage/client.ts';
import { type TableRight, tableRightsOf } from '../table-rights.ts';

/** The function that is running, and its rights. */
const running = new AsyncLocalStorage<{ key: string; rights: TableRight[] }>();

/** Runs a function with the rights of its role: a call to the table that its record does not list fails as on AWS. */
export const withTableRights = <Result>(key: string, access: Access, run: () => Result): Result =>
  running.run({ key, rights: tableRightsOf(access) }, run);

const text = v.looseObject({ pk: v.string() });
const input = v.looseObject({
  Key: v.optional(text),
  Item: v.optional(text),
  ExpressionAttributeValues: v.optional(v.looseObject({ ':pk': v.optional(v.string()) })),
  RequestItems: v.optional(v.record(v.string(), v.object({ Keys: v.array(text) }))),
});

/** The partition keys that a call is about. */
function leadingKeysOf(call: unknown): string[] {
  const { Key, Item, ExpressionAttributeValues, RequestItems = {} } = v.parse(input, call);
  const batch = Object.values(RequestItems).flatMap(({ Keys }) => Keys.map(({ pk }) => pk));
  const [one] = [Key?.pk, Item?.pk, ExpressionAttributeValues?.[':pk']].filter((pk) => pk !== undefined);
  return one === undefined ? batch : [one];
}

const fits = (pk: string, form: string): boolean =>
  form.endsWith('*') ? pk.startsWith(form.slice(0, -1)) : pk === form;

documentClient.middlewareStack.add(
  (next, { commandName = '' }) =>
    (call) => {
      const { key, rights } = running.getStore() ?? {};
      const action = commandName.replace('Command', '');
      const right = rights?.find((one) => one.action === action);
      const isAllowed = leadingKeysOf(call.input).every((pk) => right?.keys.some((form) => fits(pk, form)));
      // Outside of a function it is the local stack itself that asks.
      if (rights && !(right && isAllowed)) {
        throw new Error(`The record of ${key} does not let it ${action} ${leadingKeysOf(call.input)}.`);
      }
      return next(call);
    },
  { step: 'initialize', name: 'enforceTableRights' },
);
