import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A P-256 key and a certificate for 127.0.0.1 that nobody else has signed, in one PEM text. */
export const selfSigned = readFileSync(join(import.meta.dirname, 'throw-away-certificate.pem'), 'utf8');
