import { AsyncLocalStorage } from 'node:async_hooks';
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
 * Runs a function with the rights of its role: a call to the table that its record does not list fails as on AWS.
 * @throws MissingRight even if the function caught it
 */
export async function withTableRights<Result>(key: string, access: Access, run: () => Promise<Result>) {
  const store: Running = { key, rights: tableRightsOf(access) };
  const result = await running.run(store, run);
  if (store.missing) throw store.missing;
  return result;
}

/** The partition keys of a call; a query has its own as `:pk`. */
function leadingKeysOf(call: object): string[] {
  const keys: string[] = [];
  JSON.stringify({ ...call, ExclusiveStartKey: undefined }, (name, value) => {
    if (name === 'pk' || name === ':pk') keys.push(value);
    return value;
  });
  return keys;
}

const fits = (pk: string, form: string): boolean =>
  form.endsWith('*') ? pk.startsWith(form.slice(0, -1)) : pk === form;

const send = documentClient.send.bind(documentClient);
Object.assign(documentClient, {
  send: async (command: Parameters<typeof send>[0]) => {
    const store = running.getStore();
    // Outside of a function, the local stack itself asks.
    if (store) requireRight(store, operationOf(command), leadingKeysOf(command.input));
    return send(command);
  },
});

/** @throws Error also for a call whose keys are not recognised */
function requireRight(store: Running, action: string, keys: string[]): void {
  const { key, rights } = store;
  if (keys.length === 0) throw new Error(`The keys that ${key} wants to ${action} are not recognised.`);
  const right = rights.find((one) => one.action === action);
  if (keys.every((pk) => right?.keys.some((form) => fits(pk, form)))) return;
  store.missing = new MissingRight(`The record of ${key} does not let it ${action} ${keys}.`);
  throw store.missing;
}
