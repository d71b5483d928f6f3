import type { LoginApp } from '../login-apps/login-app.ts';
import { offerOf } from '../providers/offer.ts';
import { providerIds } from '../providers/provider-ids.ts';
import { protocolOf } from '../providers/providers.ts';
import { tokenPath } from '../tokens/issuer.ts';

/** The ways to log in to a Login App, each a row of a table: a provider, who that is, and the parameters of one grant. */
export const loginsOf = ({ providers }: LoginApp) =>
  providerIds.flatMap((id) => {
    const settings = providers.get(id);
    if (!settings) return [];
    const { grants, issuers, ...provider } = offerOf(id, settings);
    const named = issuers.map(({ issuer, nonce }) =>
      nonce === 'required' ? `${issuer} (nonce required)` : issuer,
    );
    return grants.map((grant) => ({ ...provider, ...grant, issuers: named }));
  });

/** A page in Markdown for those who write the app: which provider is which company, and what to send. */
export function pageOfLogins(app: LoginApp): string {
  const lines = loginsOf(app).map((login) => [
    code(login.provider),
    login.companies.map(literal).join(', '),
    protocolOf(login.provider).title,
    code(login.grant_type),
    [...login.required.map(code), ...login.optional.map((name) => `${code(name)} (optional)`)].join(', '),
    login.issuers.map(literal).join(', '),
  ]);
  const heading = ['Provider', 'Company', 'Protocol', '`grant_type`', 'Parameters', 'Issuers of id tokens'];
  return [
    `# How to log in to ${literal(app.name)}`,
    '',
    `Send the form to \`POST ${tokenPath}\`, with the client id and client secret of the Login App (HTTP Basic):`,
    '`grant_type`, `provider` and the parameters of a row. The client guide of the service has examples.',
    '',
    ...[heading, heading.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`),
  ].join('\n');
}

const code = (name: string): string => `\`${name}\``;

/** Text in Markdown that stands for itself, on one line. */
const literal = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll(/[\\`*_[\]<>|#]/g, '\\$&');
