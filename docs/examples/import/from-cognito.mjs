import { json } from 'node:stream/consumers';

const providers = {
  Google: { provider: 'provider_f', issuer: 'https://accounts.google.com' },
  SignInWithApple: { provider: 'provider_f', issuer: 'https://appleid.apple.com' },
  Facebook: { provider: 'provider_a', issuer: 'https://www.facebook.com' },
};
for (const { Attributes } of (await json(process.stdin)).Users) {
  const { sub, email, identities = '[]' } = Object.fromEntries(Attributes.map(({ Name, Value }) => [Name, Value]));
  for (const { providerName, userId } of JSON.parse(identities)) {
    if (!providers[providerName]) continue;
    console.log(JSON.stringify({ ...providers[providerName], subject: userId, external_id: sub, profile: { email } }));
  }
}
