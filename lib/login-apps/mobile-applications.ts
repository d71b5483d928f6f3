import * as v from 'valibot';
import { isId } from '../foundation/ids.ts';
import { cached } from '../storage/cache.ts';
import { itemKind, readItem } from '../storage/items.ts';
import { mobileApplicationKey } from '../storage/keys.ts';
import { type Platform, platforms } from './client-metadata.ts';

export const mobileApplicationItem = itemKind(
  v.object({ platform: v.picklist(platforms), created_at: v.optional(v.string()) }),
  mobileApplicationKey,
);

/**
 * The cached mobile applications. One that is not cached is always read, so that it works as soon as
 * an operator sets it.
 */
const mobileApplications = cached(
  (loginAppId) => isId('la_…', loginAppId),
  (loginAppId: string, platform: Platform) => readItem(mobileApplicationItem(loginAppId, platform)),
  { deniedFor: 0 },
);

export async function hasMobileApplication(
  loginAppId: string,
  platform: Platform,
): Promise<boolean> {
  const application = await mobileApplications.find(loginAppId, platform);
  return application !== undefined;
}
