import { Refusal } from '../refusal.ts';
import { verificationDeadline } from './call-provider.ts';
import { fetchIssuerKeys } from './fetch-issuer-keys.ts';
import { type ProviderFamily, type ProviderId, providerFamilies } from './identifiers.ts';
import { verifyOAuth1 } from './oauth1.ts';
import { verifyOAuth2, verifyOAuth2Code } from './oauth2.ts';
import { ProviderFailure } from './provider-failure.ts';
import { parseSettings } from './settings.ts';

/** What one call to the provider showed. */
export interface CheckResult {
  check: string;
  ok: boolean;
  detail: string;
}

/** No provider has issued this; what it answers shows whether our settings are right. */
const madeUp = 'made-up-to-check-the-settings';

/** Calls the provider with made-up credentials, and says what is wrong with the settings. */
export async function checkProvider(provider: ProviderId, settings: object): Promise<CheckResult[]> {
  const family: ProviderFamily = providerFamilies[provider];
  if (family === 'oidc') {
    const { issuer } = parseSettings('oidc', settings);
    return [await keysCheck(issuer)];
  }
  if (family === 'oauth1') {
    const parsed = parseSettings('oauth1', settings);
    return [
      await refusalCheck('verification', () => verifyOAuth1(parsed, { token: madeUp, secret: madeUp })),
    ];
  }
  const parsed = parseSettings('oauth2', settings);
  const { authorization_code } = parsed;
  return Promise.all([
    refusalCheck('app check and user info', () => verifyOAuth2(parsed, madeUp)),
    ...(authorization_code
      ? [refusalCheck('authorization code', () => verifyOAuth2Code(parsed, authorization_code, madeUp))]
      : []),
  ]);
}

async function keysCheck(issuer: string): Promise<CheckResult> {
  const check = 'discovery and keys';
  try {
    const { keys } = await fetchIssuerKeys(issuer, verificationDeadline());
    return { check, ok: keys.length > 0, detail: `${keys.length} keys` };
  } catch (error) {
    return { check, ok: false, detail: told(error) };
  }
}

/** All is well when the provider turns a made-up credential away. */
async function refusalCheck(check: string, verify: () => Promise<string>): Promise<CheckResult> {
  try {
    await verify();
    return { check, ok: false, detail: 'the provider accepts a made-up credential' };
  } catch (error) {
    const ok = error instanceof Refusal;
    return { check, ok, detail: ok ? 'the provider turns a made-up credential away' : told(error) };
  }
}

function told(error: unknown): string {
  if (error instanceof ProviderFailure) return error.message;
  throw error;
}
