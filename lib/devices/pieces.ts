import { createHash } from 'node:crypto';
import { devicesOfLoginAppPiece } from '../storage/keys.ts';

/** How many pieces the devices of a Login App are read and written in, so that none is a hot partition. */
const pieceCount = 16;

/** The numbers of the pieces, for workers to share out. */
export const pieces: readonly number[] = Array.from({ length: pieceCount }, (_, piece) => piece);

/** The piece that a device is in. */
export const pieceOf = (loginAppId: string, deviceId: string): string => {
  const [firstByte = 0] = createHash('sha256').update(deviceId).digest();
  return devicesOfLoginAppPiece(loginAppId, firstByte % pieceCount);
};
