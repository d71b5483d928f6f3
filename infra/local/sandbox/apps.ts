import { randomBytes } from 'node:crypto';
import type { CredentialsRequest } from './credentials-request.ts';

export interface RegisteredApp {
  id: string;
  secret: string;
}

/** The two apps that every provider knows: ours, and a stranger's whose credentials must not let anyone in. */
interface RegisteredApps {
  ours: RegisteredApp;
  another: RegisteredApp;
}

/** Registers both apps at a provider, with new secrets. */
export function registerApps(providerId: string): RegisteredApps {
  return {
    ours: { id: `${providerId}-our-app`, secret: newSecret() },
    another: { id: `${providerId}-another-app`, secret: newSecret() },
  };
}

/** The app that the requested credentials are to be issued to. */
export function requestedApp(apps: RegisteredApps, request: CredentialsRequest): RegisteredApp {
  return request.audience === 'another-app' ? apps.another : apps.ours;
}

/** Ends in characters that a caller has to encode, in HTTP Basic too: RFC 6749, section 2.3.1. */
function newSecret(): string {
  return `${randomBytes(24).toString('base64url')}+/%&:`;
}
