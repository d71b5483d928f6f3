import { AsyncLocalStorage } from 'node:async_hooks';
import type { Access } from '../../lib/http/endpoint.ts';
import { documentClient } from '../../lib/storage/client.ts';
import { operationOf } from '../../lib/storage/first-attempt.ts';
import { MissingRight, tableRightsOf } from '../table-rights.ts';

/** Checks each call of the function that runs. */
const running = new AsyncLocalStorage<(action: string, keys: string[]) => void>();

/** Runs a function with the rights of its role to the table. @throws MissingRight as on AWS, even if the function caught it */
export async function withTableRights<Result>(key: string, access: Access, run: () => Promise<Result>) {
  const rights = tableRightsOf(access);
  let missing: MissingRight | undefined;
  const check = (action: string, keys: string[]): void => {
    if (keys.length === 0) throw new Error(`The keys that ${key} wants to ${action} are not recognised.`);
    const right = rights.find((one) => one.action === action);
    if (keys.every((pk) => right?.keys.some((form) => fits(pk, form)))) return;
    missing = new MissingRight(`The record of ${key} does not let it ${action} ${keys}.`);
    throw missing;
  };
  const result = await running.run(check, run);
  if (missing) throw missing;
  return result;
}

/** The rights that a call needs: its own action, or for a transaction that of each of its writes. */
function neededRights(command: Command): { action: string; call: object }[] {
  const action = operationOf(command);
  if (!('TransactItems' in command.input)) return [{ action, call: command.input }];
  return (command.input.TransactItems ?? []).flatMap((write) =>
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

const send = documentClient.send.bind(documentClient);
type Command = Parameters<typeof send>[0];
Object.assign(documentClient, {
  send: async (command: Command) => {
    // Outside of a function, the local stack itself asks.
    const check = running.getStore();
    if (check) for (const { action, call } of neededRights(command)) check(action, leadingKeysOf(call));
    return send(command);
  },
});
