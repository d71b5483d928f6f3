import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { cached } from '../storage/cache.ts';
import { deleteItem, itemKind, putItem, readItem } from '../storage/items.ts';
import { mobileApplicationKey } from '../storage/keys.ts';
import { type Platform, platforms } from './client-metadata.ts';

export const mobileApplicationItem = itemKind(
  v.object({ platform: v.picklist(platforms), created_at: v.optional(v.string()) }),
  mobileApplicationKey,
);

/** Finds a mobile application; one that a warm function does not know is read at once, so that it works as soon as it is set. */
const findMobileApplication = cached(
  (loginAppId: string, platform: Platform) => readItem(mobileApplicationItem(loginAppId, platform)),
  { deniedFor: 0 },
);

export const hasMobileApplication = async (loginAppId: string, platform: Platform): Promise<boolean> =>
  (await findMobileApplication([loginAppId, platform], () => true)) !== undefined;

export const setMobileApplication = (loginAppId: string, platform: Platform): Promise<boolean> =>
  putItem(mobileApplicationItem(loginAppId, platform), { platform, created_at: timestamp() });

export const removeMobileApplication = (loginAppId: string, platform: Platform): Promise<void> =>
  deleteItem(mobileApplicationItem(loginAppId, platform));
