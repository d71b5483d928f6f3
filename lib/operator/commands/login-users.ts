import { setBlocked } from '../../login-users/login-user.ts';
import { Refusal } from '../../refusal.ts';
import type { CommandsOf } from '../operate.ts';

export const loginUserCommands: CommandsOf<'login-users'> = {
  block: ({ 'login-user': id }) => block(id, true),
  unblock: ({ 'login-user': id }) => block(id, false),
};

async function block(id: string, blocked: boolean): Promise<Record<string, unknown>> {
  if (!(await setBlocked(id, blocked))) throw new Refusal('not_found', 'There is no such Login User.');
  return { login_user_id: id, blocked };
}
