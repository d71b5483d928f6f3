import { execFileSync } from 'node:child_process';

/** A new P-256 key and a certificate for 127.0.0.1 that nobody else has signed, in one PEM text. */
export function selfSigned(): string {
  const options =
    '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=127.0.0.1 -keyout - -days 1';
  return execFileSync('openssl', ['req', ...options.split(' ')], { encoding: 'utf8', stdio: 'pipe' });
}
