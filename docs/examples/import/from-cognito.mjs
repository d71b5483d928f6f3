import { convert, readJson } from './convert.mjs';

const providers = {
  Google: { provider: 'provider_f', issuer: 'https://accounts.google.com' },
  SignInWithApple: { provider: 'provider_f', issuer: 'https://appleid.apple.com' },
  Facebook: { provider: 'provider_a', issuer: 'https://www.facebook.com' },
};

await convert(async function* (leaveOut) {
  for (const { Attributes } of (await readJson()).Users) {
    const { sub, email, identities = '[]' } = Object.fromEntries(Attributes.map(({ Name, Value }) => [Name, Value]));
    const linked = JSON.parse(identities);
    if (linked.length === 0) leaveOut('no provider');
    for (const { providerName, userId } of linked) {
      if (!providers[providerName]) leaveOut(providerName);
      else yield { ...providers[providerName], subject: userId, external_id: sub, profile: { email } };
    }
  }
});
