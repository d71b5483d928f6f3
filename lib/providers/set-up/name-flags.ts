/** The flag of `providers set` that a preset makes each setting of. */
const flags: Record<string, string> = {
  audiences: 'app-id',
  client_id: 'app-id',
  consumer_key: 'app-id',
  client_secret: 'app-secret-file',
  consumer_secret: 'app-secret-file',
  private_key_secret: 'app-secret-file',
  proof_secret: 'app-secret-file',
  app_token_secret: 'app-secret-file',
  app_secret: 'app-secret-file',
  redirect_uris: 'redirect-uri',
  team_id: 'team-id',
  key_id: 'key-id',
  issuer: 'issuer',
  jwks_uri: 'jwks-uri',
  tenants: 'tenant',
  namespace: 'namespace',
  notifications: 'notifications',
};

/**
 * Names the flag that a problem is about, since who uses a preset has never seen its settings:
 * `issuers.0.code_exchange.client_secret_jwt.key_id: must be …` becomes `--key-id must be …`.
 */
export function namingFlag(problem: string): string {
  const [, place = '', message] = problem.match(/^([\w.]+): (.*)$/s) ?? [];
  const names = place.split('.');
  const known =
    names.find((name) => name in flags && name !== 'issuer') ?? names.find((name) => name in flags);
  if (known === undefined) return problem;
  // Below it, there are only parts of what the flag's file has, and numbers of members.
  const parts = names.slice(names.indexOf(known) + 1).filter((name) => !/^\d+$/.test(name));
  return [`--${flags[known]}`, ...(parts.length > 0 ? [`${parts.join('.')}:`] : []), message].join(
    ' ',
  );
}
