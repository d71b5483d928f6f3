import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Fields of requests and answers, by whatever name, whose values must never be logged: secrets, and
 * personal data.
 */
const secretFields = new Set(
  `access_token access_secret id_token refresh_token authorization_code client_secret consumer_secret
  app_token_secret account_secret login_app_token token installation_id
  email given_name family_name picture phone_number`.split(/\s+/),
);

const fileIn = (directory: string): string => join(directory, 'secrets-seen.txt');

/** What this process has written into the files: most requests repeat a secret. */
const noted = new Set<string>();

/** Remembers every secret that stands in what a test sends or gets, however deep. */
export function noteSecrets(directory: string, value: unknown): void {
  const isNew = (text: string): boolean => !noted.has(`${directory} ${text}`);
  const found = secretsIn(value).filter(isNew);
  if (found.length === 0) return;
  appendFileSync(fileIn(directory), `${found.map((text) => JSON.stringify(text)).join('\n')}\n`);
  for (const text of found) noted.add(`${directory} ${text}`);
}

/** The secrets of a service's tests that stand in what the service has written. */
export function leakedSecrets(directory: string, output: string): string[] {
  if (!existsSync(fileIn(directory))) return [];
  const lines = readFileSync(fileIn(directory), 'utf8').split('\n').filter(Boolean);
  return [...new Set(lines)]
    .map((line): string => JSON.parse(line))
    .filter((secret) => output.includes(secret));
}

/**
 * Short texts, rows of one letter, words such as `provider_credentials`, and ids of tokens may
 * stand in a log.
 */
const isSecret = (text: string): boolean =>
  text.length >= 12 && new Set(text).size >= 6 && !/^[a-z_]+$|^t_[\w-]{22}$/.test(text);

function secretsIn(value: unknown, field = ''): string[] {
  if (typeof value === 'string') return secretFields.has(field) && isSecret(value) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((entry) => secretsIn(entry, field));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, entry]) => secretsIn(entry, name));
  return [];
}
