import assert from 'node:assert/strict';
import { type Service, unique } from '../support/service.ts';
import { expecting } from '../upgrade/left.ts';

/** What a client of the service holds before a deployment, and expects to be good for after it. */
type LastingData = Awaited<ReturnType<typeof leaveData>>;

/**
 * Logs in, registers a device and looks at the events.
 * @throws Error when an answer is not as expected
 */
export async function leaveData(service: Service) {
  const device = { platform: 'android', token: unique('phone') } as const;
  const login = expecting(200, await service.logIn(unique('alice')));
  const registered = expecting(201, await service.register(device, await service.loginAppToken()));
  return {
    device,
    deviceId: registered.id,
    events: expecting(200, await service.search()),
    accessToken: login.access_token,
    refreshToken: login.refresh_token,
  };
}

/**
 * Uses what was left; tokens have this lifetime, in seconds.
 * @throws Error when an answer is not as expected
 */
export async function findData(
  service: Service,
  left: LastingData,
  expiresIn: number,
): Promise<void> {
  expecting(200, await service.relate(left.deviceId, left.accessToken));
  const refreshed = expecting(200, await service.refresh(left.refreshToken));
  assert.equal(refreshed.expires_in, expiresIn);
  const known = expecting(200, await service.register(left.device, await service.loginAppToken()));
  assert.equal(known.id, left.deviceId);
  assert.deepEqual(expecting(200, await service.search()), left.events);
}

/**
 * Finds nothing of what was left: it came after the second as of which the table was restored.
 * @throws Error when an answer is not as expected
 */
export async function findNothing(
  service: Service,
  { refreshToken, deviceId }: LastingData,
): Promise<void> {
  const { body } = await service.refresh(refreshToken);
  assert.equal(body.error, 'invalid_grant');
  const login = expecting(200, await service.logIn(unique('bob')));
  expecting(404, await service.relate(deviceId, login.access_token));
}
