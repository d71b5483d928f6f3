import { randomBytes } from 'node:crypto';
import { sendJson, sendJsonText, sendNotFound } from './answers.ts';
import { registerApps, requestedApp } from './apps.ts';
import { type OAuth1Token, OAuth1Verifier } from './oauth1-verifier.ts';
import type { SandboxProvider } from './sandbox-provider.ts';
import { numericId } from './subject-ids.ts';
import { validity } from './validity.ts';

const verifyPath = '/account/verify_credentials.json';

/**
 * An OAuth 1.0 provider that tells a signed request whose token it carries, as Twitter has it.
 *
 * @see https://developer.x.com/en/docs/x-api/v1/accounts-and-users/manage-account-settings/api-reference/get-account-verify_credentials
 */
export function createOAuth1Provider(url: string, providerId: string): SandboxProvider {
  const apps = registerApps(providerId);
  const tokens = new Map<string, OAuth1Token>();
  const verifier = new OAuth1Verifier([apps.ours, apps.another], tokens);

  return {
    settings: {
      verify_url: `${url}${verifyPath}`,
      consumer_key: apps.ours.id,
      consumer_secret: apps.ours.secret,
      subject_field: 'id_str',
    },
    endpoints: new Map([[verifyPath, 'verify']]),
    issueCredentials(request) {
      const token = `${numericId(request.subject)}-${randomBytes(20).toString('base64url')}`;
      const secret = randomBytes(30).toString('base64url');
      const consumerKey = requestedApp(apps, request).id;
      tokens.set(token, {
        secret,
        consumerKey,
        subject: request.subject,
        exp: validity(request.expired).exp,
      });
      return { access_token: token, access_secret: secret };
    },
    answer(path, request, response) {
      if (request.method !== 'GET' || path !== verifyPath) return sendNotFound(response, 'no such endpoint');
      const subject = verifier.verify({
        method: request.method,
        url: `http://${request.headers.host}${request.url}`,
        authorization: request.headers.authorization,
      });
      if (subject === undefined) {
        const errors = [{ code: 32, message: 'Could not authenticate you.' }];
        return sendJson(response, 401, { errors });
      }
      // JSON.stringify would round the number, which the real provider sends in full.
      const id = numericId(subject);
      const text = `{"id":${id},"id_str":"${id}","screen_name":${JSON.stringify(subject)}}`;
      sendJsonText(response, 200, text);
    },
  };
}
