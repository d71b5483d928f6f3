/** Well-known companies by the domains of their issuers and addresses, as their presets have them. */
const companies = {
  'apple.com': 'Apple',
  'discord.com': 'Discord',
  'facebook.com': 'Facebook',
  'github.com': 'GitHub',
  'google.com': 'Google',
  'googleapis.com': 'Google',
  'kakao.com': 'Kakao',
  'line.me': 'LINE',
  'linkedin.com': 'LinkedIn',
  'microsoftonline.com': 'Microsoft',
  'twitch.tv': 'Twitch',
  'x.com': 'X',
};

/** The company behind an issuer or an address: its name if it is well known, otherwise undefined. */
export function companyAt(address: string): string | undefined {
  const host = URL.parse(address)?.hostname ?? '';
  const known = Object.entries(companies).find(([domain]) => host === domain || host.endsWith(`.${domain}`));
  return known?.[1];
}
