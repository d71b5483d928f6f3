import 'react-native-get-random-values';
import { appleAuth } from '@invertase/react-native-apple-authentication';
import { getMessaging, getToken, onTokenRefresh, requestPermission } from '@react-native-firebase/messaging';
import { Platform } from 'react-native';
import { signUpWithGoogle } from 'react-native-credentials-manager';
import * as Keychain from 'react-native-keychain';
import { Session, type Vault } from './session';

declare const crypto: { getRandomValues(bytes: Uint8Array): Uint8Array };

const vault: Vault = {
  async get(name) {
    const found = await Keychain.getGenericPassword({ service: name });
    return found ? found.password : null;
  },
  async set(name, value) {
    const accessible = Keychain.ACCESSIBLE.AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY;
    if (value === null) await Keychain.resetGenericPassword({ service: name });
    else await Keychain.setGenericPassword(name, value, { service: name, accessible });
  },
};

export const session = new Session('https://backend.example.com', 'https://login.example.com', vault);

async function idTokenFrom(nonce: string): Promise<string> {
  if (Platform.OS === 'android') {
    const serverClientId = '1234567890-web.apps.googleusercontent.com';
    return (await signUpWithGoogle({ serverClientId, nonce, autoSelectEnabled: false })).idToken;
  }
  const { identityToken } = await appleAuth.performRequest({
    requestedOperation: appleAuth.Operation.LOGIN,
    requestedScopes: [appleAuth.Scope.EMAIL],
    nonce,
  });
  if (!identityToken) throw new Error('Apple sent no id token.');
  return identityToken;
}

export async function logIn(): Promise<void> {
  const nonce = await session.nonce();
  await session.logIn(await idTokenFrom(nonce), nonce);
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

async function installationId(): Promise<string> {
  const kept = await vault.get('installation');
  if (kept) return kept;
  const made = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
  await vault.set('installation', made);
  return made;
}

export const deleteAccount = (): Promise<void> => session.deleteAccount(logIn);
