import { createHash, randomBytes } from 'node:crypto';
import { type OAuth1Token, OAuth1Verifier } from './oauth1-verifier.ts';
import { Apps, type SandboxProvider, sendJson, validity } from './sandbox-provider.ts';

const verifyPath = '/account/verify_credentials.json';

/**
 * An OAuth 1.0 provider that tells a signed request whose token it carries, as Twitter has it.
 * @see https://developer.x.com/en/docs/x-api/v1/accounts-and-users/manage-account-settings/api-reference/get-account-verify_credentials
 */
export function createOAuth1Provider(url: string, id: string): SandboxProvider {
  const apps = new Apps(id);
  const tokens = new Map<string, OAuth1Token>();
  const verifier = new OAuth1Verifier(tokens);

  return {
    settings: {
      namespace: `${id}.sandbox`,
      verify_url: `${url}${verifyPath}`,
      consumer_key: apps.ours.id,
      consumer_secret: apps.ours.secret,
      subject_field: 'id_str',
    },
    async issue({ subject, audience, expired }) {
      const access_token = randomBytes(20).toString('base64url');
      const access_secret = randomBytes(30).toString('base64url');
      const { exp } = validity(expired);
      tokens.set(access_token, { secret: access_secret, app: apps.of(audience), subject, exp });
      return { access_token, access_secret };
    },
    async answer(path, { method = '', url: target = '', headers }, response) {
      const subject =
        path === verifyPath
          ? verifier.subjectOf({
              method,
              url: new URL(target, url).href,
              authorization: headers.authorization,
            })
          : undefined;
      if (subject === undefined)
        return sendJson(response, 401, { errors: [{ code: 32, message: 'Could not authenticate you.' }] });
      const id_str = createHash('sha256').update(subject).digest().readBigUInt64BE().toString();
      sendJson(response, 200, { id_str, screen_name: subject });
    },
  };
}
