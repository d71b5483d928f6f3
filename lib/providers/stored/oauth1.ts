import * as v from 'valibot';

/** Stored settings, as far as they are read without decrypting them. */
const storedSchema = v.object({
  namespace: v.optional(v.string()),
  verify_url: v.optional(v.string()),
});

/** Answers about stored settings of an OAuth 1.0 provider. */
export const oauth1Stored = {
  issuers: () => ({ idTokens: [], accessTokens: [] }),
  namespace: (stored: object) => v.parse(storedSchema, stored).namespace,
  addresses: (stored: object) => {
    const { verify_url } = v.parse(storedSchema, stored);
    return verify_url === undefined ? [] : [verify_url];
  },
  exchange: () => undefined,
  keepers: () => [],
};
