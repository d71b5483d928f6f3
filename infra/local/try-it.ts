import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '../version.ts';
import type { Demo } from './demo.ts';

/** The README's lines after the variables: requests with curl and sed. */
const [requests = ''] =
  readFileSync(join(projectFolder, 'README.md'), 'utf8').match(/^field\(\).*?(?=^```$)/ms) ?? [];

/** The README's lines to paste into a shell, with this demo's values. */
export const tryIt = ({
  base_url,
  sandbox_url,
  login_app,
  account,
  access_request_id,
}: Demo): string => `\
BASE=${base_url}
SANDBOX=${sandbox_url}
CLIENT='${login_app.client_id}:${login_app.client_secret}'
ACCOUNT='${account.account_id}:${account.account_secret}'
ACCESS_REQUEST=${access_request_id}
${requests}`;
