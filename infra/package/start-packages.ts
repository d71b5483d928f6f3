import packageJson from '../../package.json' with { type: 'json' };

const { dynalite, 'oidc-provider': oidcProvider } = packageJson.devDependencies;

/**
 * The servers that play AWS and the providers, with their versions. Only `npx login-service start`
 * needs them, so they don't come with the construct.
 */
export const startPackages: Record<string, string> = { dynalite, 'oidc-provider': oidcProvider };

/** Says which servers are not installed, and how to install them; undefined if they are. */
export function missingStartPackages(): string | undefined {
  const missing = Object.keys(startPackages).filter((name) => !isThere(name));
  if (missing.length === 0) return;
  const named = Object.entries(startPackages).map(([name, version]) => `${name}@${version}`);
  return `The service on this machine needs packages that the construct does without: ${missing.join(' and ')}. This installs them:
npm install --save-dev ${named.join(' ')}`;
}

function isThere(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}
