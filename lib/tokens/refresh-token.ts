import { createHmac, type KeyObject } from 'node:crypto';
import type { SessionGeneration } from '../people/sessions/session.ts';
import { equalInConstantTime } from '../secrets/secrets.ts';
import { serviceKeysFor } from '../secrets/service-secret.ts';
import { refreshTokenForm } from './refresh-token-form.ts';

const serviceKeys = serviceKeysFor('refresh-token', 'REFRESH_TOKENS_SECRET_ID');

/**
 * A refresh token: `rt.lu_….s_….GENERATION.KEY_ID.MAC`, where MAC is HMAC-SHA-256 over the rest.
 */
export async function writeRefreshToken(content: SessionGeneration): Promise<string> {
  const { login_user_id, session_id, generation } = content;
  const { current } = await serviceKeys();
  const text = ['rt', login_user_id, session_id, generation, current.id].join('.');
  return `${text}.${mac(text, current.key)}`;
}

/** The content of a refresh token; undefined if the service did not make it. */
export async function readRefreshToken(token: string): Promise<SessionGeneration | undefined> {
  const found = refreshTokenForm.exec(token);
  if (!found) return undefined;
  const [
    text = '',
    login_user_id = '',
    session_id = '',
    generation,
    keyId = '',
    presentedMac = '',
  ] = found.slice(1);
  const keys = await serviceKeys();
  const key = keys.withId(keyId)?.key;
  if (!key || !equalInConstantTime(presentedMac, mac(text, key))) return undefined;
  return { login_user_id, session_id, generation: Number(generation) };
}

const mac = (text: string, key: KeyObject) =>
  createHmac('sha256', key).update(text).digest('base64url');
