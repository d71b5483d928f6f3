import { expect, test } from '@jest/globals';
import { accountOf, identityIdsOf, newAccount, subOf } from '../support/account.ts';
import { failed, succeeded } from '../support/operator.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();

test('an operator gives a person back the account that an intruder took', async () => {
  const { account, loginUserId, subject } = await newAccount(service);
  const thief = unique('thief');
  const { id } = (await account.linkAt('provider_a', thief)).body;
  const [own = ''] = identityIdsOf(await account.show());
  await account.unlink(own);
  const empty = subOf(await service.logIn(subject));
  expect(empty).not.toBe(loginUserId);

  const who = ['--login-user', loginUserId];
  await succeeded('login-users', 'block', ...who);
  expect(await succeeded('identities', 'list', ...who)).toMatchObject({
    identities: [{ id, provider: 'provider_a', subject: thief }],
  });
  expect(await failed('identities', 'remove', ...who, '--identity', id)).toMatch(/last identity/);
  const issuer = `${service.demo.sandbox_url}/provider_f`;
  const add = [
    'identities',
    'add',
    ...who,
    '--provider',
    'provider_f',
    '--issuer',
    issuer,
    '--subject',
    subject,
  ];
  expect(await failed(...add)).toMatch(/belongs to another Login User/);
  expect(await succeeded(...add, '--move')).toMatchObject({ login_user_id: loginUserId, added: true });
  expect(await succeeded('identities', 'remove', ...who, '--identity', id)).toMatchObject({ removed: true });
  await succeeded('login-users', 'unblock', ...who);

  const again = await service.logIn(subject);
  expect(subOf(again)).toBe(loginUserId);
  expect(identityIdsOf(await accountOf(service, again.body.access_token).show())).toHaveLength(1);
  expect(subOf(await service.logIn(thief, 'provider_a'))).not.toBe(loginUserId);
});
