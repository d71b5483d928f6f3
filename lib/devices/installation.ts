import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { type ItemOf, itemKind } from '../storage/items.ts';
import { installationKey } from '../storage/keys.ts';
import { deviceLifetimeSeconds } from './device.ts';

export const installationItem = itemKind(
  v.object({
    /** The current device; of a shared installation, one of them. */
    device_id: v.string(),
    /** The devices that it had before, the latest last. */
    replaced_device_ids: v.exactOptional(v.array(v.string())),
    /** Whether two phones have its id. Then no registration replaces a device of it any more. */
    shared: v.exactOptional(v.boolean()),
    /** Epoch seconds of its end, which comes after that of its devices. */
    expires_at: v.number(),
    /**
     * 1.0.0 kept the device of the registration before here, since it might not be replaced yet.
     */
    previous_device_id: v.exactOptional(v.nullable(v.string())),
  }),
  installationKey,
);
export type Installation = ItemOf<typeof installationItem>;

/** Attributes that only 1.0.0 wrote. */
export const obsoleteAttributes = ['previous_device_id', 'earlier_device_id'];

/** How many replaced devices an installation remembers. */
const mostReplaced = 10;

/** Seconds for which an installation outlives its device, and after which it is written again. */
const spareSeconds = 30 * 86_400;

/** Epoch seconds of the end of an installation that is written now. */
export const endOfInstallation = (): number =>
  epochSeconds() + deviceLifetimeSeconds + spareSeconds;

/** Whether an installation must be written again to outlive a device that registers now. */
export const isDue = ({ expires_at }: Installation): boolean =>
  expires_at < epochSeconds() + deviceLifetimeSeconds;

/**
 * The conditions that an installation has the device with which it was read, and is shared only if
 * it was.
 */
export function sameInstallation(installation: Installation | undefined) {
  if (!installation) return { pk: { exists: false } };
  return {
    device_id: { is: installation.device_id },
    shared: { exists: installation.shared === true },
  };
}

/** The attributes of an installation that gets another device. */
export function withDevice(installation: Installation | undefined, deviceId: string) {
  const { device_id, previous_device_id, replaced_device_ids = [] } = installation ?? {};
  const earlier = [...replaced_device_ids, previous_device_id, device_id];
  const replaced = new Set(earlier.filter((id) => typeof id === 'string'));
  replaced.delete(deviceId);
  return { device_id: deviceId, replaced_device_ids: [...replaced].slice(-mostReplaced) };
}
