import { updateItem } from '../storage/items.ts';
import { deviceKey } from '../storage/keys.ts';

/** The attributes of a device that tell whose it is. */
const relation = ['login_user_id', 'related_at', 'related_session_id', 'list'];

/** Makes a device nobody's. False when it is no longer this Login User's, or (where one is named) not by this session. */
export async function unrelate(loginUserId: string, deviceId: string, sessionId?: string): Promise<boolean> {
  const { done } = await updateItem(deviceKey(deviceId), {
    remove: relation,
    when: {
      login_user_id: { is: loginUserId },
      ...(sessionId !== undefined && { related_session_id: { is: sessionId } }),
    },
  });
  return done;
}
