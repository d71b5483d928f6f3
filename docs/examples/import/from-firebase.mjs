import { json } from 'node:stream/consumers';

const providers = {
  'google.com': { provider: 'provider_f', issuer: 'https://accounts.google.com' },
  'apple.com': { provider: 'provider_f', issuer: 'https://appleid.apple.com' },
  'facebook.com': { provider: 'provider_a', issuer: 'https://www.facebook.com' },
};
for (const { localId, providerUserInfo = [] } of (await json(process.stdin)).users) {
  for (const { providerId, rawId, email, displayName: name } of providerUserInfo) {
    if (!providers[providerId]) continue;
    console.log(JSON.stringify({ ...providers[providerId], subject: rawId, external_id: localId, profile: { email, name } }));
  }
}
