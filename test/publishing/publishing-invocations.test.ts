import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { passesFilter } from '../../infra/local/filter-stream.ts';
import { newPerson } from '../support/people.ts';
import { newPublicClient, newPhone as newPublicPhone } from '../support/phone.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { recordOf } from '../support/stream-records.ts';
import { watchPublishing } from '../support/watch-publishing.ts';

const own = await sharedServiceWithStore();
const { service, dynamoDb, tableName } = own;
const { during } = await watchPublishing(own);
const appToken = await service.loginAppToken();

describe('the publishing function is invoked', () => {
  const passing = async (action: () => Promise<unknown>): Promise<number> =>
    (await during(action)).passing;

  test('once by a login, and never by a refresh, whatever the client', async () => {
    const subject = unique('anna');
    expect(await passing(() => newPerson(service, subject))).toBe(1);
    const { refreshToken } = await newPerson(service, subject);
    expect(await passing(() => service.refresh(refreshToken))).toBe(0);

    const phone = await newPublicPhone(service, await newPublicClient(service));
    const first = await during(() => phone.logIn());
    expect(first.passing).toBe(1);
    const { refresh_token } = first.result.body;
    expect(await passing(() => phone.refresh(refresh_token))).toBe(0);
  });

  test('never when the table removes what was used once, or a session that had ended', async () => {
    const phone = await newPublicPhone(service, await newPublicClient(service));
    const { body } = await phone.logIn();
    const logOut = () => phone.send('revoke', { token: body.refresh_token });
    expect(await passing(logOut)).toBe(1);
    const { Items = [] } = await dynamoDb.send(new ScanCommand({ TableName: tableName }));
    const isEnded = (item: (typeof Items)[number]) => item.ended_at !== undefined;
    const expired = Items.filter((item) => item.pk?.S?.startsWith('USED_ONCE#') || isEnded(item));
    expect(expired.some(isEnded) && !expired.every(isEnded)).toBe(true);
    const records = expired.map((item) => recordOf(unmarshall(item), undefined));
    expect(records.filter(passesFilter)).toEqual([]);
  });

  test('once by the first registration of a device, and never by further ones until it is linked', async () => {
    const device = { platform: 'android', token: unique('phone'), installation_id: unique('i') };
    const register = () => service.register(device, appToken);
    const { passing: first, result } = await during(register);
    expect([first, await passing(register)]).toEqual([1, 0]);
    const { token } = await newPerson(service);
    expect(await passing(() => service.relate(result.body.id, token))).toBe(1);
    // The filter can't compare the person with the one before.
    expect(await passing(register)).toBe(1);
  });

  test('once by an access request, each comment and each review that decides nothing', async () => {
    const { passing: created, result } = await during(() => service.createAccessRequest());
    const { id } = result.body;
    const comment = { actor_type: 'custom', actor_id: 'desk', comment: 'Fine.' };
    const add = (path: 'comments' | 'reviews') => () =>
      service.addEvent(path, { ...comment, status: 'approved' }, { id });
    expect([created, await passing(add('comments')), await passing(add('reviews'))]).toEqual([
      1, 1, 1,
    ]);
  });
});
