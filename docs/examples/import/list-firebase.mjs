// Prints the users of a Firebase project as `firebase auth:export` does, but with all providers.
import { applicationDefault, initializeApp } from 'firebase-admin/app';
import { getAuth } from 'firebase-admin/auth';

initializeApp({ credential: applicationDefault() });
const users = [];
let pageToken;
do {
  const page = await getAuth().listUsers(1000, pageToken);
  for (const { uid: localId, email, providerData } of page.users) {
    const providerUserInfo = providerData.map((one) => ({
      providerId: one.providerId,
      rawId: one.uid,
      email: one.email,
      displayName: one.displayName,
    }));
    users.push({ localId, email, providerUserInfo });
  }
  pageToken = page.pageToken;
} while (pageToken);
console.log(JSON.stringify({ users }));
