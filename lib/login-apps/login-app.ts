import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { isId, newId } from '../foundation/ids.ts';
import { type Item, type ItemOf, itemKind, putItem } from '../storage/items.ts';
import * as keys from '../storage/keys.ts';
import { named, readPartition } from '../storage/lists.ts';
import { clientItem } from './clients.ts';
import { loginAppTokenItem } from './login-app-tokens.ts';
import { mobileApplicationItem } from './mobile-applications.ts';
import { statusAttributes } from './status.ts';

export const loginAppItem = itemKind(
  v.object({
    login_app_id: v.string(),
    name: v.string(),
    created_at: v.string(),
    ...statusAttributes,
  }),
  keys.loginAppKey,
);
export type LoginAppItem = ItemOf<typeof loginAppItem>;

const settingsItem = itemKind(
  v.object({ provider: v.string(), settings: v.record(v.string(), v.unknown()) }),
  keys.providerSettingsKey,
);

/** A Login App with everything that belongs to it, for the operator. */
export type LoginApp = NonNullable<Awaited<ReturnType<typeof readLoginApp>>>;

export async function readLoginApp(id: string) {
  if (!isId('la_…', id)) return undefined;
  const sortKeys = keys.loginAppSortKeys;
  const items = await readPartition(keys.loginAppPartition(id));
  const root = items.find(({ sk }) => sk === sortKeys.root);
  if (!root) return undefined;
  const membersOf = <Member>(prefix: string, kind: { parse: (item: Item) => Member }): Member[] =>
    items.filter(({ sk }) => String(sk).startsWith(prefix)).map(kind.parse);

  const clients = membersOf(sortKeys.client, clientItem);
  const settings = membersOf(sortKeys.provider, settingsItem);
  const tokens = membersOf(sortKeys.token, loginAppTokenItem);
  const applications = membersOf(sortKeys.mobileApplication, mobileApplicationItem);
  return {
    ...loginAppItem.parse(root),
    clients: new Map(clients.map((client) => [client.client_id, client])),
    /** Settings by provider identifier; secrets in them are encrypted. */
    providers: new Map(settings.map((one) => [one.provider, one.settings])),
    tokens: new Map(tokens.map((token) => [token.token_id, token])),
    mobileApplications: new Set(applications.map(({ platform }) => platform)),
  };
}

/** The id of a probe's Login App, and epoch seconds of its end. */
interface ProbeLoginApp {
  loginAppId?: string;
  expires_at?: number;
}

/** Creates a Login App without clients or providers. */
export async function createLoginApp(
  name: string,
  { loginAppId = newId('la'), ...end }: ProbeLoginApp = {},
): Promise<{ login_app_id: string }> {
  const created = {
    login_app_id: loginAppId,
    ...named(keys.loginAppsList, loginAppId, name),
    created_at: timestamp(),
    ...end,
  };
  await putItem(loginAppItem(loginAppId), created, { ifAbsent: true });
  return { login_app_id: loginAppId };
}
