import { convert, readJsonLines } from './convert.mjs';

const providers = {
  'google-oauth2': { provider: 'provider_f', issuer: 'https://accounts.google.com' },
  apple: { provider: 'provider_f', issuer: 'https://appleid.apple.com' },
  facebook: { provider: 'provider_a', issuer: 'https://www.facebook.com' },
};

/** The identity of a user whose export has no `identities`: `google-oauth2|123` names it. */
function identityIn(userId) {
  const [provider, ...id] = userId.split('|');
  return { provider, user_id: id.join('|') };
}

await convert(async function* (leaveOut) {
  for await (const { user_id: external_id, email, identities } of readJsonLines()) {
    for (const { provider, user_id } of identities ?? [identityIn(external_id)]) {
      if (!providers[provider]) {
        leaveOut(provider);
        continue;
      }
      if (typeof user_id === 'number' && !Number.isSafeInteger(user_id)) {
        console.error(`The user_id of ${external_id} at ${provider} is a number that was rounded; export it as text.`);
        leaveOut(provider);
        continue;
      }
      yield { ...providers[provider], subject: String(user_id), external_id, profile: { email } };
    }
  }
});
