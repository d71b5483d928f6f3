import { registerApps, requestedApp } from './apps.ts';
import { IdentityServer } from './identity-server.ts';
import { introspectionEndpoints, introspectionSettings } from './introspection-provider.ts';
import type { SandboxProvider } from './sandbox-provider.ts';
import { validity } from './validity.ts';

const redirectUri = 'https://app.example/callback';
const tokenPath = '/token';

/**
 * An OAuth 2.0 provider that also exchanges authorization codes, each of them once.
 *
 * @see RFC 6749, section 4.1.3
 */
export async function createAuthorizationCodeProvider(
  url: string,
  providerId: string,
): Promise<SandboxProvider> {
  const apps = registerApps(providerId);
  const server = await IdentityServer.start({ issuer: url, apps: [apps.ours, apps.another], redirectUri });

  return {
    settings: {
      ...introspectionSettings(url, apps.ours),
      authorization_code: {
        token_url: `${url}${tokenPath}`,
        client_id: apps.ours.id,
        client_secret: apps.ours.secret,
        redirect_uri: redirectUri,
      },
    },
    endpoints: new Map([...introspectionEndpoints, [tokenPath, 'token']]),
    async issueCredentials(request) {
      const app = requestedApp(apps, request);
      const issue = { subject: request.subject, app, validity: validity(request.expired) };
      return {
        access_token: await server.issueAccessToken(issue),
        authorization_code: await server.issueAuthorizationCode(issue, redirectUri),
      };
    },
    answer: (path, request, response) => server.answer(path, request, response),
  };
}
