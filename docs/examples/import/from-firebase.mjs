import { convert, readJson } from './convert.mjs';

const providers = {
  'google.com': { provider: 'provider_f', issuer: 'https://accounts.google.com' },
  'apple.com': { provider: 'provider_f', issuer: 'https://appleid.apple.com' },
  'facebook.com': { provider: 'provider_a', issuer: 'https://www.facebook.com' },
};

await convert(async function* (leaveOut) {
  for (const { localId, providerUserInfo = [] } of (await readJson()).users) {
    if (providerUserInfo.length === 0) leaveOut('no provider');
    for (const { providerId, rawId, email, displayName: name } of providerUserInfo) {
      if (!providers[providerId]) leaveOut(providerId);
      else yield { ...providers[providerId], subject: rawId, external_id: localId, profile: { email, name } };
    }
  }
});
