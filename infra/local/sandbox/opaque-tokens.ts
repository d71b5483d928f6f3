import { randomBytes } from 'node:crypto';
import { epochSeconds } from './validity.ts';

export interface OpaqueToken {
  subject: string;
  appId: string;
  /** Epoch seconds. */
  exp: number;
}

/** The tokens of a provider that looks each one up instead of signing it. */
export class OpaqueTokens {
  readonly #tokens = new Map<string, OpaqueToken>();

  issue(token: OpaqueToken): string {
    const value = randomBytes(32).toString('base64url');
    this.#tokens.set(value, token);
    return value;
  }

  find(value: string): OpaqueToken | undefined {
    return this.#tokens.get(value);
  }

  findUnexpired(value: string): OpaqueToken | undefined {
    const token = this.find(value);
    return token && token.exp > epochSeconds() ? token : undefined;
  }
}
