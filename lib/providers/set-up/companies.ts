/** Well-known companies by the domains of their issuers and addresses. */
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

/** The well-known company behind an issuer or an address, otherwise undefined. */
export function companyAt(address: string): string | undefined {
  const host = URL.parse(address)?.hostname ?? '';
  return Object.entries(companies).find(
    ([domain]) => host === domain || host.endsWith(`.${domain}`),
  )?.[1];
}
