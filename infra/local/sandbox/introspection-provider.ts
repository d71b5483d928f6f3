import { type RegisteredApp, registerApps, requestedApp } from './apps.ts';
import { IdentityServer } from './identity-server.ts';
import type { EndpointName, SandboxProvider } from './sandbox-provider.ts';
import { validity } from './validity.ts';

const userInfoPath = '/me';
const introspectionPath = '/token/introspection';

/** The endpoints' paths, as oidc-provider lays them out. */
export const introspectionEndpoints: readonly (readonly [string, EndpointName])[] = [
  [userInfoPath, 'user_info'],
  [introspectionPath, 'audience_validation'],
];

/**
 * An OAuth 2.0 provider with user info and token introspection.
 *
 * @see RFC 7662
 */
export async function createIntrospectionProvider(url: string, providerId: string): Promise<SandboxProvider> {
  const apps = registerApps(providerId);
  const server = await IdentityServer.start({ issuer: url, apps: [apps.ours, apps.another] });

  return {
    settings: introspectionSettings(url, apps.ours),
    endpoints: new Map(introspectionEndpoints),
    async issueCredentials(request) {
      const app = requestedApp(apps, request);
      const issue = { subject: request.subject, app, validity: validity(request.expired) };
      return { access_token: await server.issueAccessToken(issue) };
    },
    answer: (path, request, response) => server.answer(path, request, response),
  };
}

export function introspectionSettings(url: string, app: RegisteredApp): object {
  return {
    user_info: { url: `${url}${userInfoPath}`, subject_field: 'sub' },
    audience_validation: {
      method: 'introspection',
      url: `${url}${introspectionPath}`,
      client_id: app.id,
      client_secret: app.secret,
      audiences: [app.id],
    },
  };
}
