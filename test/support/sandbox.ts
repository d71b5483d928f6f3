import { afterAll, beforeAll, expect, jest } from '@jest/globals';
import * as v from 'valibot';
import { type Sandbox, startSandbox } from '../../infra/local/sandbox/sandbox.ts';
import type { ProviderId } from '../../lib/providers/identifiers.ts';

/** A sandbox of a test file's own, from before its tests until after them. It must print nothing. */
export function ownSandbox() {
  let sandbox: Sandbox;
  const printed: unknown[] = [];
  beforeAll(async () => {
    for (const method of ['log', 'info', 'warn', 'error'] as const) {
      jest.spyOn(console, method).mockImplementation((...text) => void printed.push(...text));
    }
    sandbox = await startSandbox();
  });
  afterAll(async () => {
    await sandbox.close();
    expect(printed).toEqual([]);
  });
  const credentialsUrl = (provider: string, subject: string, more: Record<string, string> = {}): string =>
    `${sandbox.url}/${provider}/credentials?${new URLSearchParams({ subject, ...more })}`;
  return {
    sandbox: () => sandbox,
    credentialsUrl,
    /** What the provider issues to a person. */
    credentials: async (provider: ProviderId, subject: string, more: Record<string, string> = {}) => {
      const { status, body } = await getJson(credentialsUrl(provider, subject, more));
      expect(status).toBe(200);
      return v.parse(v.record(v.string(), v.string()), body);
    },
  };
}

export async function getJson(url: string, bearer?: string) {
  const response = await fetch(url, bearer ? { headers: { authorization: `Bearer ${bearer}` } } : {});
  return { status: response.status, body: await readJson(response) };
}

export async function readJson(response: Response): Promise<Record<string, unknown>> {
  return v.parse(v.record(v.string(), v.unknown()), await response.json());
}

/** The settings by which every OAuth 2.0 provider finds the person of a token. */
export const userInfo = (field: string) =>
  v.strictObject({ url: v.string(), subject_field: v.literal(field) });
export const strings = v.array(v.string());

export const introspectionSettings = v.object({
  user_info: userInfo('sub'),
  audience_validation: v.strictObject({
    method: v.literal('introspection'),
    url: v.string(),
    client_id: v.string(),
    client_secret: v.string(),
    audiences: strings,
  }),
});

export const tokenInfoSettings = v.strictObject({
  user_info: userInfo('id'),
  audience_validation: v.strictObject({
    method: v.literal('token_info'),
    url: v.string(),
    token_parameter: v.literal('access_token'),
    audience_field: v.literal('aud'),
    subject_field: v.literal('user_id'),
    audiences: strings,
  }),
});
