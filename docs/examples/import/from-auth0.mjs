import { createInterface } from 'node:readline';

const providers = {
  'google-oauth2': { provider: 'provider_f', issuer: 'https://accounts.google.com' },
  apple: { provider: 'provider_f', issuer: 'https://appleid.apple.com' },
  facebook: { provider: 'provider_a', issuer: 'https://www.facebook.com' },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { user_id: external_id, email, identities } = JSON.parse(line);
  for (const { provider, user_id } of identities) {
    if (!providers[provider]) continue;
    console.log(JSON.stringify({ ...providers[provider], subject: String(user_id), external_id, profile: { email } }));
  }
}
