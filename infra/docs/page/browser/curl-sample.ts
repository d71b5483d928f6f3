interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  example?: unknown;
}

interface Content {
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

export interface Operation {
  description?: string;
  parameters?: Parameter[];
  security: Record<string, string[]>[];
  requestBody?: { content: Record<string, Content> };
}

/** The value of the `Authorization` header or `user:password`, by the security scheme. */
export interface Credentials {
  basic: Record<string, { username: string; password: string }>;
  tokens: Record<string, string>;
}

/** Names in the place of a reader's credentials. */
export const placeholders: Credentials = {
  basic: {
    login_app_client: { username: 'CLIENT_ID', password: 'CLIENT_SECRET' },
    account: { username: 'ACCOUNT_ID', password: 'ACCOUNT_SECRET' },
  },
  tokens: {
    login_app_token: 'LOGIN_APP_TOKEN',
    login_user_token: 'LOGIN_USER_TOKEN',
  },
};

/** A command that sends the first example of an operation. */
export function curlSample(
  method: string,
  url: string,
  operation: Operation,
  credentials: Credentials,
): string {
  const { parameters = [], security, requestBody } = operation;
  const given = parameters.filter(({ example }) => example !== undefined);
  const path = given
    .filter((one) => one.in === 'path')
    .reduce((text, { name, example }) => text.replace(`{${name}}`, String(example)), url);
  const query = new URLSearchParams(
    given
      .filter((one) => one.in === 'query')
      .map(({ name, example }): [string, string] => [name, String(example)]),
  );
  const address = query.size > 0 ? `${path}?${query}` : path;

  // GET without a body and POST with one are curl's own choice.
  const isDefault = method === (requestBody ? 'post' : 'get');
  const choice = isDefault ? '' : `-X ${method.toUpperCase()} `;
  return [
    `curl ${choice}${quoted(address)}`,
    ...authorizationOf(security, credentials),
    ...bodyOf(requestBody),
  ].join(' \\\n  ');
}

/** The options for the first of the security schemes. */
function authorizationOf(
  [first = {}]: Operation['security'],
  { basic, tokens }: Credentials,
): string[] {
  const [scheme = ''] = Object.keys(first);
  const client = basic[scheme];
  if (client) return [`-u ${quoted(`${client.username}:${client.password}`)}`];
  const token = tokens[scheme];
  return token === undefined ? [] : [`-H ${quoted(`Authorization: Bearer ${token}`)}`];
}

/** The options for the first example of a body. */
function bodyOf(requestBody: Operation['requestBody']): string[] {
  const [first] = Object.entries(requestBody?.content ?? {});
  if (!first) return [];
  const [type, { example, examples = {} }] = first;
  const [firstExample] = Object.values(examples);
  const value = example ?? firstExample?.value ?? {};
  if (type !== 'application/x-www-form-urlencoded')
    return [`-H ${quoted(`Content-Type: ${type}`)}`, `-d ${quoted(JSON.stringify(value))}`];
  return Object.entries(value).map(
    ([name, field]) => `--data-urlencode ${quoted(`${name}=${field}`)}`,
  );
}

/** A word of a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
