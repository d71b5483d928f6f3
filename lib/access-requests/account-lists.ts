import { deflateRawSync, inflateRawSync } from 'node:zlib';
import * as v from 'valibot';
import { ago, timestamp } from '../foundation/clock.ts';
import { newId } from '../foundation/ids.ts';
import { logFailure } from '../log/log.ts';
import { forEachInBatches, retryOnConflict, timeLimit } from '../storage/batches.ts';
import { deleteItem, type ItemOf, itemKind, putItem, readItems, updateItem } from '../storage/items.ts';
import * as keys from '../storage/keys.ts';
import { readBetween, readMemberPages, readPartition } from '../storage/lists.ts';
import { type AccessRequest, accessItem, accessRequestItem, readAccesses } from './access-request.ts';
import { type Decision, decisionOf, decisions, isPending, settle } from './decision.ts';

/** How many consecutive ids a block is about: less than 1 KB, packed. */
const blockSize = 4096;

/** A block of a list: the code of each of its ids, as `codeOf` makes it. `revision` counts its changes. */
const blockItem = itemKind(
  v.object({ codes: v.string(), revision: v.number(), sk: v.string() }),
  keys.listBlockKey,
);

const pack = (codes: Uint8Array): string => deflateRawSync(codes).toString('base64');
const unpack = (codes: string): Uint8Array => inflateRawSync(Buffer.from(codes, 'base64'));

/** A list of access requests: the codes by the number of the block. */
type List = Map<number, Uint8Array>;

/** Reads a whole list: some hundred bytes for each block. */
export async function readList(accountId: string, list: string): Promise<List> {
  const { pk, sk } = keys.listBlockKey(accountId, list, 0);
  const blocks = (await readPartition(pk, sk.slice(0, -16))).map(blockItem.parse);
  return new Map(blocks.map((block) => [keys.ordinalOf(block.sk), unpack(block.codes)]));
}

/** Calls back with each id of a list in ascending order. */
export function forEachId(list: List, use: (id: number, code: number) => void): void {
  for (const [block, codes] of list)
    for (const [place, code] of codes.entries()) if (code !== 0) use(block * blockSize + place, code);
}

export const codeIn = (list: List, id: number) => list.get(Math.floor(id / blockSize))?.[id % blockSize] ?? 0;

/** The code of a decision; 0 stands for no access. */
export const codeOf = (decision: Decision): number => decisions.indexOf(decision) + 1;

/** The names of the lists by who requested, and by reference: of those that are given. */
export const narrowLists = (type?: string, id?: string, reference?: string): string[] =>
  [
    type && keys.requesterTypeList(type),
    id && keys.requesterIdList(id),
    reference && keys.referenceList(reference),
  ].filter((name) => name !== undefined);

/** The names of the lists that an access request is in, of every account with access. */
export const listNamesOf = ({ requested_by: by, reference }: AccessRequest): string[] => [
  keys.wholeList,
  ...narrowLists(by?.actor_type, by?.actor_id, reference),
];

/**
 * A mark at an access request: blocks may be wrong about it. It is put before the change that it is about: a new access
 * request, an access that is given or taken away, a review that may decide. `due`: an expiry, whose time has come.
 */
const markItem = itemKind(
  v.object({
    account_id: v.string(),
    access_request_id: v.number(),
    about: v.picklist(['new', 'access', 'review', 'due']),
    list_position: v.string(),
    pk: v.string(),
    sk: v.string(),
  }),
  keys.changeMarkKey,
);
export type Mark = ItemOf<typeof markItem>;
export const idOf = (mark: Mark): number => mark.access_request_id;

export async function mark(id: number, account_id: string, about: Mark['about'], time = timestamp()) {
  const key =
    about === 'due' ? keys.dueMarkKey(account_id, time, id) : keys.changeMarkKey(account_id, id, newId('m'));
  const list = keys.markedAccessRequestsList;
  const marked = { account_id, access_request_id: id, about, list, list_position: time };
  await putItem<object>({ ...key, parse: markItem.parse }, marked);
  return key;
}

export async function readMarks(accountId: string): Promise<Mark[]> {
  const pk = keys.accessRequestsOfAccountList(accountId);
  return (await readBetween(pk, 'CHANGE#', `DUE#${timestamp()}~`)).map(markItem.parse);
}

interface Truth {
  request: AccessRequest | undefined;
  hasAccess: boolean;
}

/** Access requests as the table has them, and whether an account has access, by id. @param needsSettling which to settle */
export async function readTruths(accountId: string, ids: number[], needsSettling = isPending) {
  const [requests, accesses] = await Promise.all([
    readItems(ids.map((id) => accessRequestItem(id))),
    readItems(ids.map((id) => accessItem(id, accountId))),
  ]);
  const truths = new Map<number, Truth>();
  await forEachInBatches([...ids.entries()], async ([place, id]) => {
    const request = requests[place];
    const settled = request && needsSettling(request) ? await settle(request) : request;
    truths.set(id, { request: settled, hasAccess: accesses[place] !== undefined });
  });
  return truths;
}

/** Milliseconds after which whatever put a mark has been stopped. */
const underWayFor = 60_000;

/** Whether the change that a mark is about had been made when the truth was read, or never will be. */
function isOver({ about, list_position }: Mark, { request, hasAccess }: Truth): boolean {
  if (about === 'new' && request && hasAccess) return true;
  if ((about === 'review' || about === 'due') && request && !isPending(request)) return true;
  return list_position < ago(underWayFor);
}

/**
 * Brings an account's lists up to date about some access requests, and removes marks at them that have become needless. The
 * blocks are read before the truth and written if nobody has changed them since: older truth never overwrites newer truth.
 * @returns false when somebody else was faster: then the marks stay
 */
export async function refreshLists(accountId: string, about: number[], marks: Mark[] = []): Promise<boolean> {
  const ids = [...new Set(about)];
  const found = await readItems(ids.map((id) => accessRequestItem(id)));
  const known = found.filter((request) => request !== undefined);
  const places = new Map<string, { key: ReturnType<typeof blockItem>; ids: number[] }>();
  for (const request of known)
    for (const list of listNamesOf(request)) {
      const id = request.access_request_id;
      const key = blockItem(accountId, list, Math.floor(id / blockSize));
      places.set(key.sk, { key, ids: [...(places.get(key.sk)?.ids ?? []), id] });
    }
  const wanted = [...places.values()];
  const blocks = await readItems(wanted.map(({ key }) => key));
  const truths = await readTruths(accountId, ids);
  let isWritten = true;
  await forEachInBatches([...wanted.entries()], async ([place, { key, ids }]) => {
    const stored = blocks[place];
    const codes = stored ? unpack(stored.codes) : new Uint8Array(blockSize);
    const before = Buffer.from(codes);
    for (const id of ids) {
      const { request, hasAccess } = truths.get(id) ?? {};
      codes[id % blockSize] = request && hasAccess ? codeOf(decisionOf(request)) : 0;
    }
    if (before.equals(codes)) return;
    const outcome = await updateItem(key, {
      set: { codes: pack(codes), revision: (stored?.revision ?? 0) + 1 },
      when: { revision: { is: stored?.revision } },
    });
    isWritten &&= outcome.done;
  });
  if (!isWritten) return false;
  const listed = new Set(known.map((request) => request.access_request_id));
  const over = marks.filter((one) => {
    const truth = truths.get(idOf(one));
    // An access request that was created meanwhile is not in the lists yet.
    return truth && (listed.has(idOf(one)) || !truth.request) && isOver(one, truth);
  });
  await forEachInBatches(over, (one) => deleteItem(one));
  return true;
}

/**
 * Brings the lists of all accounts up to date about marked access requests, for 40 s. It also stores decisions that have
 * expired or that a crash has left open. The failure of one account is logged and does not stop the others.
 * @throws Error in the end when the lists of an account could not be refreshed
 */
export async function refreshMarked(): Promise<void> {
  const hasTime = timeLimit(40_000);
  let failed = 0;
  for await (const items of readMemberPages(keys.markedAccessRequestsList, timestamp())) {
    const marks = items.map(markItem.parse);
    for (const [accountId, ofAccount] of Map.groupBy(marks, ({ account_id }) => account_id))
      try {
        await refreshLists(accountId, ofAccount.map(idOf), ofAccount);
      } catch (error) {
        failed += 1;
        logFailure('lists_not_refreshed', error, { account_id: accountId });
      }
    if (!hasTime()) break;
  }
  if (failed > 0) throw new Error(`The lists of ${failed} accounts could not be refreshed.`);
}

/** Puts access requests of a version that knew no lists into the lists of the accounts that have access. */
export async function indexAccessRequests(requests: AccessRequest[]): Promise<void> {
  const accesses = await Promise.all(requests.map((request) => readAccesses(request.access_request_id)));
  for (const [accountId, ofAccount] of Map.groupBy(accesses.flat(), ({ account_id }) => account_id)) {
    const ids = ofAccount.map(({ access_request_id }) => access_request_id);
    const message = "Others are changing an account's lists; run it again.";
    await retryOnConflict(async () => (await refreshLists(accountId, ids)) || undefined, message);
  }
}
