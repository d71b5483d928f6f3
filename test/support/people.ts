import { setTimeout as wait } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { type Service, unique } from './service.ts';

/** A person who has just logged in, with a Login User Token. */
export interface Person {
  token: string;
  refreshToken: string;
  loginUserId: string;
  subject: string;
}

export async function newPerson(
  service: Service,
  subject = unique('person'),
  client = service.demo.login_app,
): Promise<Person> {
  const { body } = await service.logIn(subject, 'provider_f', client);
  const loginUserId = String(decodeJwt(body.access_token).sub);
  return { token: body.access_token, refreshToken: body.refresh_token, loginUserId, subject };
}

/** Registers a new android phone; its device id. @param appToken by default, one of the demo */
export async function newPhone(service: Service, appToken?: string): Promise<string> {
  const device = { platform: 'android', token: unique('phone') };
  return (await service.register(device, appToken ?? (await service.loginAppToken()))).body.id;
}

/** The ids of a person's devices, in their order. */
export async function deviceIdsOf(service: Service, { token }: Person): Promise<string[]> {
  const { body } = await service.listDevices(token);
  return body.devices.map(({ id }: { id: string }) => id);
}

/** Reads until what is read is as expected, for lists that lag behind; what was read last, after a minute. */
export async function eventually<Value>(
  read: () => Promise<Value>,
  isExpected: (value: Value) => boolean,
): Promise<Value> {
  const giveUpAt = Date.now() + 60_000;
  for (;;) {
    const value = await read();
    if (isExpected(value) || Date.now() > giveUpAt) return value;
    await wait(50);
  }
}

/** Reads a list until it has so many members. */
export const eventuallyHas = <Member>(count: number, read: () => Promise<Member[]>): Promise<Member[]> =>
  eventually(read, ({ length }) => length === count);

/** Checks until the check passes, for lists that lag behind. */
export async function eventuallyPasses(check: () => Promise<void>): Promise<void> {
  const problem = () =>
    check().then(
      () => undefined,
      (error: unknown) => error,
    );
  const last = await eventually(problem, (error) => error === undefined);
  if (last !== undefined) throw last;
}
