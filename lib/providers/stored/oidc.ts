import * as v from 'valibot';
import { type IssuersInSettings, storedIssuerSchema } from '../jwt/issuers-in-settings.ts';
import { hostOf } from '../settings/fields.ts';

/** Stored settings, as far as they are read without decrypting them. */
const storedSchema = v.object({ issuers: v.optional(v.array(storedIssuerSchema), []) });

/** Answers about stored settings of an OpenID Connect provider. */
export const oidcStored = {
  issuers: (stored: object): IssuersInSettings => {
    const { issuers } = v.parse(storedSchema, stored);
    const idTokens = issuers.map((one, at) => ({ ...one, place: `issuers.${at}` }));
    return { idTokens, accessTokens: [] };
  },
  // Each issuer has its own.
  namespace: () => undefined,
  addresses: () => [],
  exchange: (settings: object, issuer: string | undefined) => {
    const { issuers } = v.parse(storedSchema, settings);
    return issuers.find((one) => one.issuer === issuer)?.code_exchange;
  },
  keepers: (stored: object) => {
    const { issuers } = v.parse(storedSchema, stored);
    return issuers.flatMap((trusted) => {
      const { issuer, code_exchange: exchange } = trusted;
      if (!exchange?.keep_tokens) return [];
      const givesLongLived = exchange.long_lived_tokens === true;
      return [{ issuer, host: hostOf(exchange.token_url), trusted, givesLongLived }];
    });
  },
};
