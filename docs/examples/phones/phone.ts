import 'react-native-get-random-values';
import { appleAuth } from '@invertase/react-native-apple-authentication';
import { generate, getPublicKeyFixed, sign } from '@pagopa/io-react-native-crypto';
import { getMessaging, getToken, onTokenRefresh, requestPermission } from '@react-native-firebase/messaging';
import { Platform } from 'react-native';
import { signUpWithGoogle } from 'react-native-credentials-manager';
import * as Keychain from 'react-native-keychain';
import { jwtSignature, type PhoneKey, publicClient } from './public-client';
import { Session, type Vault } from './session';

declare const crypto: { getRandomValues(bytes: Uint8Array): Uint8Array };

const vault: Vault = {
  async get(name) {
    const found = await Keychain.getGenericPassword({ service: name }).catch(noneOfAnotherPhone);
    return found ? found.password : null;
  },
  async set(name, value) {
    const accessible = Keychain.ACCESSIBLE.AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY;
    if (value === null) await Keychain.resetGenericPassword({ service: name });
    else await Keychain.setGenericPassword(name, value, { service: name, accessible });
  },
};

/** On Android, the backup of another phone has its vault, but not the key: the vault counts as empty. */
function noneOfAnotherPhone(error: Error & { code?: string }): false {
  if (Platform.OS === 'android' && error.code === 'E_CRYPTO_FAILED') return false;
  throw error;
}

/** The key of this phone, in the Secure Enclave or Keystore. */
const key: PhoneKey = {
  async publicJwk() {
    const jwk = await getPublicKeyFixed('phone').catch(() => generate('phone').then(() => getPublicKeyFixed('phone')));
    if (jwk.kty !== 'EC') throw new Error('The hardware of this phone has no P-256.');
    return jwk;
  },
  sign: async (text) => jwtSignature(await sign(text, 'phone')),
};

const random = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

const service = 'https://login.example.com';
// With a server: backendAt('https://backend.example.com'), without the key.
const source = publicClient({ service, client_id: 'la_….c_…', key, app_token: 'APP_TOKEN', random });
export const session = new Session(source, service, vault);

/** Call this when somebody who has not logged in does something to keep. */
export const beginAsGuest = (): Promise<void> => session.beginAsGuest();

/** Makes the guest a person, at a button. It throws `conflict` if the person has an account: offer `mergeGuest`. */
export const linkGuest = (): Promise<void> => signIn((...credential) => session.linkGuest(...credential));

/** Merges the guest into the account of a person who signs in once more. Your servers move what is the guest's. */
export const mergeGuest = (): Promise<void> =>
  signIn(async (idToken, nonce) => {
    const { id, merged_from } = await session.mergeGuest(idToken, nonce);
    console.info(`${merged_from} is ${id} now.`); // Tell your servers.
  });

export const logIn = (): Promise<void> => signIn((...credential) => session.logIn(...credential));

/** Lets the person sign in at the provider. @param use gets the id token, its nonce, and Apple's code and name */
async function signIn(use: Session['logIn']): Promise<void> {
  const nonce = await session.nonce();
  if (Platform.OS === 'android') {
    const serverClientId = '1234567890-web.apps.googleusercontent.com';
    const { idToken } = await signUpWithGoogle({ serverClientId, nonce, autoSelectEnabled: false });
    return use(idToken, nonce);
  }
  const { identityToken, authorizationCode, fullName } = await appleAuth.performRequest({
    requestedOperation: appleAuth.Operation.LOGIN,
    requestedScopes: [appleAuth.Scope.EMAIL, appleAuth.Scope.FULL_NAME],
    nonce,
  });
  if (!identityToken) throw new Error('Apple sent no id token.');
  await use(identityToken, nonce, authorizationCode ?? '', toldBy(fullName));
}

/** The person's name in Apple's form for web pages; Apple gives it once, and an empty text stands for none. */
function toldBy(name: { givenName: string | null; familyName: string | null } | null): string {
  if (!name?.givenName && !name?.familyName) return '';
  return JSON.stringify({ name: { firstName: name.givenName ?? undefined, lastName: name.familyName ?? undefined } });
}

/** Call this after the login, and at every start of the app with somebody logged in. */
export async function register(): Promise<void> {
  const messaging = getMessaging();
  await requestPermission(messaging);
  await session.registerDevice({
    platform: Platform.OS === 'ios' ? 'ios' : 'android',
    token: await getToken(messaging),
    token_type: 'fcm',
    installation_id: await installationId(),
  });
}

/** Calls `register` whenever Firebase changes the token. */
export const stopListening = onTokenRefresh(getMessaging(), () => register().catch(console.warn));

/** Made once. A phone that is restored from a backup of this one can't read the vault, and makes its own. */
async function installationId(): Promise<string> {
  const kept = await vault.get('installation');
  if (kept) return kept;
  const made = random();
  await vault.set('installation', made);
  return made;
}

export const deleteAccount = (): Promise<void> => session.deleteAccount(logIn);
