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
    if (typeof user_id === 'number' && !Number.isSafeInteger(user_id)) {
      console.error(`Left out: the user_id of ${external_id} at ${provider} is a number that was rounded; export it as text.`);
      process.exitCode = 1;
      continue;
    }
    console.log(JSON.stringify({ ...providers[provider], subject: String(user_id), external_id, profile: { email } }));
  }
}
