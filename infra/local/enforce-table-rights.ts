import { AsyncLocalStorage } from 'node:async_hooks';
import * as v from 'valibot';
import type { Access } from '../../lib/http/endpoint.ts';
import { documentClient } from '../../lib/storage/client.ts';
import { operationOf } from '../../lib/storage/first-attempt.ts';
import { MissingRight, type TableRight, tableRightsOf } from '../table-rights.ts';

interface Running {
  key: string;
  rights: TableRight[];
  missing?: MissingRight;
}
const running = new AsyncLocalStorage<Running>();

/**
 * Runs a function with the rights of its role: a call to the table that its record does not list fails as on AWS. Whatever
 * the function makes of that, its caller learns of it.
 * @throws MissingRight
 */
export async function withTableRights<Result>(
  key: string,
  access: Access,
  run: () => Promise<Result>,
): Promise<Result> {
  const store: Running = { key, rights: tableRightsOf(access) };
  const result = await running.run(store, run);
  if (store.missing) throw store.missing;
  return result;
}

const keySchema = v.looseObject({ pk: v.string() });
const inputSchema = v.looseObject({
  Key: v.optional(keySchema),
  Item: v.optional(keySchema),
  ExpressionAttributeValues: v.optional(v.looseObject({ ':pk': v.optional(v.string()) })),
  RequestItems: v.optional(v.record(v.string(), v.object({ Keys: v.array(keySchema) })), {}),
});

/** The partition keys that a call is about; a query gives its own as `:pk`. */
function leadingKeysOf(call: unknown): string[] {
  const { Key, Item, ExpressionAttributeValues, RequestItems } = v.parse(inputSchema, call);
  const one = Key?.pk ?? Item?.pk ?? ExpressionAttributeValues?.[':pk'];
  if (one !== undefined) return [one];
  return Object.values(RequestItems).flatMap(({ Keys }) => Keys.map(({ pk }) => pk));
}

const fits = (pk: string, form: string): boolean =>
  form.endsWith('*') ? pk.startsWith(form.slice(0, -1)) : pk === form;

const send = documentClient.send.bind(documentClient);
Object.assign(documentClient, {
  send: async (command: Parameters<typeof send>[0]) => {
    const store = running.getStore();
    // Outside of a function it is the local stack itself that asks.
    if (store) requireRight(store, operationOf(command), leadingKeysOf(command.input));
    return send(command);
  },
});

/** @throws Error also for a call whose keys are not recognised, so that none goes unchecked */
function requireRight(store: Running, action: string, keys: string[]): void {
  const { key, rights } = store;
  if (keys.length === 0) throw new Error(`The keys that ${key} wants to ${action} are not recognised.`);
  const right = rights.find((one) => one.action === action);
  if (keys.every((pk) => right?.keys.some((form) => fits(pk, form)))) return;
  store.missing = new MissingRight(`The record of ${key} does not let it ${action} ${keys}.`);
  throw store.missing;
}
