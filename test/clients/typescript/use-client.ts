import { issueToken, registerDevice, relateDevice, searchEvents } from './client';
import { client } from './client/client.gen';

interface Input {
  base_url: string;
  client_credential: string;
  account_credential: string;
  access_request_id: number;
  id_token: string;
  authorization_code: string;
}

declare const process: { argv: string[]; stdout: { write(text: string): void } };

/** Calls the five endpoints of the interface, and prints what came back. */
async function main(input: Input): Promise<void> {
  const credentials: Record<string, string> = {
    login_app_client: input.client_credential,
    account: input.account_credential,
  };
  client.setConfig({ baseUrl: input.base_url, auth: ({ key = '' }) => credentials[key], throwOnError: true });

  const byIdToken = await issueToken({
    body: { grant_type: 'provider_credentials', provider: 'provider_f', id_token: input.id_token },
    throwOnError: true,
  });
  const byCode = await issueToken({
    body: {
      grant_type: 'provider_authorization_code',
      provider: 'provider_b',
      authorization_code: input.authorization_code,
    },
    throwOnError: true,
  });
  const app = await issueToken({ body: { grant_type: 'client_credentials' }, throwOnError: true });
  credentials.login_app_token = app.data.access_token;
  credentials.login_user_token = byIdToken.data.access_token;

  const device = await registerDevice({
    body: { device: { platform: 'android', token: 'typescript-phone' } },
    throwOnError: true,
  });
  const related = await relateDevice({ body: { device_id: device.data.id }, throwOnError: true });
  const events = await searchEvents({
    path: { access_request_id: input.access_request_id },
    query: { page: 2, page_size: 1 },
    throwOnError: true,
  });
  const unknown = await relateDevice({ body: { device_id: 'd_unknown' }, throwOnError: false });

  process.stdout.write(
    JSON.stringify({
      token_types: [byIdToken.data.token_type, byCode.data.token_type],
      same_device: device.data.id === related.data.id,
      // Narrowed by its type: only a review has a status.
      statuses: events.data.results.map((event) => (event.type === 'review' ? event.status : event.comment)),
      error: unknown.error && 'error' in unknown.error ? unknown.error.error : undefined,
    }),
  );
}

await main(JSON.parse(process.argv[2] ?? ''));
