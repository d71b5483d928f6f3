import { Refusal } from '../refusal.ts';
import { appCheck } from './app-check.ts';
import { verificationDeadline } from './call-provider.ts';
import { explainFailure } from './explain-failure.ts';
import { fetchIssuerKeys } from './fetch-issuer-keys.ts';
import { type ProviderFamily, type ProviderId, providerFamilies } from './identifiers.ts';
import { verifyOAuth1 } from './oauth1.ts';
import { exchangeCode, userInfo } from './oauth2.ts';
import { ProviderFailure } from './provider-failure.ts';
import { parseSettings } from './settings.ts';

/** What one call to the provider showed. */
interface CheckResult {
  check: string;
  ok: boolean;
  /** A sentence for the person who set it up. */
  detail: string;
}

/** No provider has issued this; what it answers shows whether our settings are right. */
const madeUp = 'made-up-to-check-the-settings';

/** Calls each endpoint of the settings with made-up credentials, and says what is wrong. */
export function checkProvider(provider: ProviderId, settings: object): Promise<CheckResult[]> {
  const family: ProviderFamily = providerFamilies[provider];
  return Promise.all(checks[family](settings));
}

const checks: Record<ProviderFamily, (settings: object) => Promise<CheckResult>[]> = {
  oidc: (settings) => {
    const { issuer } = parseSettings('oidc', settings);
    return [
      check('keys', async () => {
        const { keys } = await fetchIssuerKeys(issuer, verificationDeadline());
        return { ok: true, detail: `The issuer publishes its keys: ${keys.length}.` };
      }),
    ];
  },
  oauth1: (settings) => {
    const parsed = parseSettings('oauth1', settings);
    const unknown =
      'The provider turns a made-up token away. It would say the same to a wrong consumer key or secret: only a login shows that they are right.';
    return [
      turnsAway('verification', () => verifyOAuth1(parsed, { token: madeUp, secret: madeUp }), unknown),
    ];
  },
  oauth2: (settings) => {
    const parsed = parseSettings('oauth2', settings);
    const { authorization_code } = parsed;
    const signal = verificationDeadline();
    return [
      turnsAway('app check', () => appCheck(parsed, madeUp, signal)),
      turnsAway('user info', () => userInfo(parsed, madeUp, signal)),
      ...(authorization_code
        ? [turnsAway('authorization code', () => exchangeCode(authorization_code, madeUp, signal))]
        : []),
    ];
  },
};

/** All is well when the provider turns a made-up credential away. */
const turnsAway = (
  name: string,
  present: () => Promise<unknown>,
  wellDone = 'The provider answers, and turns a made-up credential away.',
): Promise<CheckResult> =>
  check(name, async () => {
    try {
      await present();
    } catch (error) {
      if (error instanceof Refusal) return { ok: true, detail: wellDone };
      throw error;
    }
    return {
      ok: false,
      detail: 'The provider accepts a made-up credential: this address does not verify anything.',
    };
  });

async function check(name: string, call: () => Promise<Omit<CheckResult, 'check'>>): Promise<CheckResult> {
  try {
    return { check: name, ...(await call()) };
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    return { check: name, ok: false, detail: explainFailure(error) };
  }
}
