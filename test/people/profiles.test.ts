import { describe, expect, test } from '@jest/globals';
import { succeeded } from '../support/operator.ts';
import { accountOf, subOf } from '../support/people.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();

const claims = {
  email: 'alice@example.com',
  email_verified: true,
  name: 'Алиса Pérez 👩🏽‍💻',
  given_name: 'Алиса',
  family_name: 'Pérez',
  picture: 'https://pictures.example/alice.png?size=96',
  locale: 'de-CH',
  phone_number: '+41 44 668 18 00',
  phone_number_verified: false,
};

/** Logs somebody in whom a provider says this of. */
async function logIn(subject: string, told: object, provider = 'provider_f', grant_type?: string) {
  const form = await service.loginForm(
    provider,
    { subject, claims: JSON.stringify(told) },
    grant_type,
  );
  const answer = await service.token(form);
  expect(answer.status).toBe(200);
  return {
    account: accountOf(service, answer.body.access_token),
    loginUserId: String(subOf(answer)),
  };
}

/** The profiles of somebody's identities, undefined for one without. */
const profilesOf = async ({ account }: Pick<Awaited<ReturnType<typeof logIn>>, 'account'>) =>
  (await account.show()).body.identities.map(({ profile }: { profile?: object }) => profile);

describe('the profile of an identity', () => {
  test.each([
    ['provider_a', undefined],
    ['provider_b', undefined],
    ['provider_b', 'provider_authorization_code'],
    ['provider_d', undefined],
    ['provider_e', undefined],
    ['provider_f', undefined],
  ])(
    '%s, %s: what the provider said, and nothing that the settings do not name',
    async (provider, grant) => {
      const told = { ...claims, gender: 'female', birthdate: '1990-01-31' };
      expect(await profilesOf(await logIn(unique('alice'), told, provider, grant))).toEqual([
        claims,
      ]);
    },
  );

  test('is brought up to date by each login: what the provider no longer says is gone', async () => {
    const subject = unique('alice');
    await logIn(subject, claims);
    const { email, email_verified, ...others } = claims;
    const newer = { ...others, name: 'Alice Meier' };
    expect(await profilesOf(await logIn(subject, newer))).toEqual([newer]);
    expect(await profilesOf(await logIn(subject, {}))).toEqual([undefined]);
  });

  test('is that of a linked identity from the link on, and brought up to date when it is linked again', async () => {
    const person = await logIn(unique('alice'), claims);
    const other = unique('alice');
    const link = (told: object) =>
      person.account.linkAt('provider_a', other, { claims: JSON.stringify(told) });
    expect((await link({ name: 'Alice' })).body.profile).toEqual({ name: 'Alice' });
    expect(await profilesOf(person)).toEqual([claims, { name: 'Alice' }]);
    const again = await link({ locale: 'fr' });
    expect([again.status, again.body.profile]).toEqual([200, { locale: 'fr' }]);
    expect(await profilesOf(person)).toEqual([claims, { locale: 'fr' }]);
    await logIn(other, { name: 'Alice M.' }, 'provider_a');
    expect(await profilesOf(person)).toEqual([claims, { name: 'Alice M.' }]);
    expect((await link({})).body).not.toHaveProperty('profile');
    expect(await profilesOf(person)).toEqual([claims, undefined]);
  });

  test('links nothing: who has the same verified e-mail address at two providers is two Login Users', async () => {
    const first = await logIn(unique('alice'), claims);
    const second = await logIn(unique('alice'), claims, 'provider_a');
    expect(first.loginUserId).not.toBe(second.loginUserId);
    expect([await profilesOf(first), await profilesOf(second)]).toEqual([[claims], [claims]]);
  });

  test('is in what operators see of a person, and not in the list of people', async () => {
    const subject = unique('alice');
    const { loginUserId } = await logIn(subject, claims);
    const who = ['--login-user', loginUserId];
    const { login_app_id } = service.demo.login_app;
    const issuer = `${service.demo.sandbox_url}/provider_f`;
    const by = ['--provider', 'provider_f', '--subject', subject, '--issuer', issuer];
    const identities = [{ provider: 'provider_f', subject, profile: claims }];
    for (const command of [
      ['login-users', 'show', ...who],
      ['login-users', 'export', ...who],
      ['login-users', 'find', '--login-app', login_app_id, ...by],
      ['identities', 'list', ...who],
    ])
      expect(await succeeded(...command)).toMatchObject({ identities });
    const list = await succeeded('login-users', 'list', '--login-app', login_app_id);
    expect(JSON.stringify(list)).not.toContain(claims.email);
  });
});

describe('a claim', () => {
  const email = `${'a'.repeat(242)}@example.com`;
  const picture = `https://x.example/${'x'.repeat(2_030)}`;

  /** A claim beside another one, and what the service keeps of it. */
  async function keptOf(name: string, told: unknown): Promise<unknown> {
    const [profile] = await profilesOf(
      await logIn(unique('alice'), { phone_number: '1', [name]: told }),
    );
    const { phone_number, ...others } = profile;
    expect([phone_number, Object.keys(others)]).toEqual(['1', name in others ? [name] : []]);
    return others[name];
  }

  test.each<[string, string, unknown, unknown?]>([
    ['email', 'of 254 characters', email],
    ['name', 'of 255 characters', 'x'.repeat(255)],
    ['picture', 'of 2,048 characters', picture],
    ['locale', 'of a language alone', 'de'],
    ['email_verified', 'as the text true, as Apple writes it', 'true', true],
    ['email_verified', 'as the text false', 'false', false],
  ])('%s %s is kept', async (name, _what, told, kept = told) => {
    expect(await keptOf(name, told)).toBe(kept);
  });

  test.each<[string, string, unknown]>([
    ['email', 'of 255 characters', `a${email}`],
    ['name', 'of 256 characters', 'x'.repeat(256)],
    ['name', 'that is empty', ''],
    ['name', 'that is a list', ['Alice']],
    ['given_name', 'that is a number', 7],
    ['family_name', 'that is an object', { text: 'Pérez' }],
    ['picture', 'of 2,049 characters', `${picture}x`],
    ['locale', 'that is an object', { country: 'US', language: 'en' }],
    ['email_verified', 'that is another text', 'yes'],
    ['email_verified', 'that is a number', 1],
    ['email_verified', 'that is null', null],
  ])('%s %s is left out', async (name, _what, told) => {
    expect(await keptOf(name, told)).toBeUndefined();
  });
});
