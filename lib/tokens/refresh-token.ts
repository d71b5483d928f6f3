import { createHmac } from 'node:crypto';
import { equalInConstantTime } from '../secrets.ts';
import { serviceKey } from '../service-secret.ts';

/** What a refresh token says. It is signed, so that nothing secret need be stored. */
export interface RefreshTokenContent {
  loginUserId: string;
  sessionId: string;
  /** How often the session had been refreshed when the token was made. */
  generation: number;
}

/** `rt.lu_….s_….GENERATION.KEY_ID.MAC`, where MAC is HMAC-SHA-256 over all that stands before it. */
export async function writeRefreshToken(content: RefreshTokenContent): Promise<string> {
  const { id, key } = await serviceKey('refresh-token');
  const text = ['rt', content.loginUserId, content.sessionId, content.generation, id].join('.');
  return `${text}.${mac(text, key)}`;
}

/** What a refresh token says, or undefined when it is not one that we made, to the last bit. */
export async function readRefreshToken(token: string): Promise<RefreshTokenContent | undefined> {
  const parts = token.match(
    /^(rt\.(lu_[\w-]{43})\.(s_[\w-]{22})\.(0|[1-9]\d{0,9})\.([\w-]{8}))\.([\w-]{43})$/,
  );
  const [, text, loginUserId, sessionId, generation, keyId, presentedMac] = parts ?? [];
  if (!text || !loginUserId || !sessionId || !generation || !presentedMac) return undefined;
  const { id, key } = await serviceKey('refresh-token');
  if (keyId !== id || !equalInConstantTime(presentedMac, mac(text, key))) return undefined;
  return { loginUserId, sessionId, generation: Number(generation) };
}

const mac = (text: string, key: Buffer): string => createHmac('sha256', key).update(text).digest('base64url');
