import { AsyncLocalStorage } from 'node:async_hooks';
import type { Access } from '../../lib/http/endpoint.ts';
import { store } from '../../lib/storage/client.ts';
import { MissingRight, tableRightsOf } from '../table-rights.ts';

/** Checks each call of the function that runs. */
const running = new AsyncLocalStorage<(action: string, call: object) => void>();

/**
 * Runs a function with the rights of its role to the table.
 * @throws MissingRight as on AWS, even if the function caught it
 */
export async function withTableRights<Result>(
  key: string,
  access: Access,
  run: () => Promise<Result>,
) {
  const rights = tableRightsOf(access);
  let missing: MissingRight | undefined;
  const check = (action: string, call: object): void => {
    const keys = leadingKeysOf(call);
    if (keys.length === 0)
      throw new Error(`The keys that ${key} wants to ${action} are not recognised.`);
    const right = rights.find((one) => one.action === action);
    const { IndexName: index }: { IndexName?: string } = call;
    const mayNameIndex = index === undefined || right?.indexes.includes(index);
    if (mayNameIndex && keys.every((pk) => right?.keys.some((form) => fits(pk, form)))) return;
    const place = index === undefined ? '' : ` in ${index}`;
    missing = new MissingRight(`The record of ${key} does not let it ${action} ${keys}${place}.`);
    throw missing;
  };
  const result = await running.run(check, run);
  if (missing) throw missing;
  return result;
}

/**
 * The rights that a call needs: its own action, or for a transaction that of each of its writes.
 */
function neededRights(operation: string, input: object): { action: string; call: object }[] {
  if (!('TransactItems' in input)) return [{ action: operation, call: input }];
  const writes: object[] = Object(input.TransactItems);
  return writes.flatMap((write) =>
    Object.entries(write).map(([name, call]) => ({ action: actionOfWrite[name] ?? name, call })),
  );
}

/** @see Amazon DynamoDB developer guide, "Using IAM with DynamoDB transactions" */
const actionOfWrite: Record<string, string> = {
  Put: 'PutItem',
  Update: 'UpdateItem',
  Delete: 'DeleteItem',
  ConditionCheck: 'ConditionCheckItem',
};

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

const { call } = store;
store.call = async (operation, input) => {
  // Outside of a function, the local stack itself asks.
  const check = running.getStore();
  if (check) for (const needed of neededRights(operation, input)) check(needed.action, needed.call);
  return call(operation, input);
};
