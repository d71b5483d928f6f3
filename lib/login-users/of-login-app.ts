import { loginUserKey } from '../storage/keys.ts';
import { hasItemWith } from '../storage/lists.ts';

/** Whether a person is one of a Login App. For a person of another one it costs what it costs for nobody. */
export const isOfLoginApp = (loginUserId: string, loginAppId: string): Promise<boolean> =>
  hasItemWith(loginUserKey(loginUserId), 'login_app_id', loginAppId);
