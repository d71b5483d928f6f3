import * as v from 'valibot';
import { readRange } from '../storage/lists.ts';
import { type AccessRequestEvent, event } from './event.ts';
import { allEvents } from './event-lists.ts';
import { largestPage } from './search-request.ts';

/** Some events of an access request, and the id after which the next ones begin; none when these are the last. */
interface ExportedPage {
  events: AccessRequestEvent[];
  next?: number;
}

/** The first 100 events after an id, in ascending order, with the fields that an import reads. */
export async function exportEvents(accessRequestId: number, after: number): Promise<ExportedPage> {
  const items = await readRange(allEvents(accessRequestId), after + 1, after + largestPage);
  const events = items.map((item) => v.parse(event, item));
  return { events, ...(events.length === largestPage && { next: after + largestPage }) };
}
