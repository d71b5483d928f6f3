import { type Credentials, curlSample, type Operation, placeholders } from './curl-sample.ts';

interface SwaggerUi {
  preauthorizeBasic(scheme: string, username: string, password: string): void;
  preauthorizeApiKey(scheme: string, value: string): void;
}

interface SentRequest {
  headers: Record<string, string>;
  body?: unknown;
}

declare const SwaggerUIBundle: (options: object) => SwaggerUi;

interface ApiDocument {
  servers?: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
}

interface DemoCredentials extends Credentials {
  /** Values for the placeholders of the examples. */
  examples: Record<string, string>;
}

const page = document.documentElement;
const isDemo = 'demo' in page.dataset;
const documentText = await read(isDemo ? '../openapi.json' : 'openapi.json');
// Without the headers of responses: nearly all are the same, and they would take up most of an
// operation.
const apiDocument: ApiDocument = JSON.parse(documentText, (name, value) =>
  name === 'headers' ? undefined : value,
);
// The server that the page came from, under the name that the browser knows it by.
if (isDemo) apiDocument.servers = [{ url: location.origin }];

const dark = matchMedia('(prefers-color-scheme: dark)');
const followColorScheme = () => page.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followColorScheme);
followColorScheme();

new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
show(withSamples(apiDocument, placeholders));
if (isDemo) showDemo();

/**
 * Shows a document in the place of the one before. The operation that the address names is open.
 */
function show(spec: ApiDocument): SwaggerUi {
  const domNode = document.createElement('div');
  document.querySelector('#api')?.replaceChildren(domNode);
  return SwaggerUIBundle({
    spec,
    domNode,
    validatorUrl: null,
    deepLinking: true,
    docExpansion: 'list',
    operationsSorter: (a: Map<string, string>, b: Map<string, string>) => placeOf(a) - placeOf(b),
    // The path of an operation is a link within the button that opens it, which does the same.
    plugins: [{ wrapComponents: { DeepLink: () => (link: { text: string }) => link.text } }],
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    tryItOutEnabled: isDemo,
    supportedSubmitMethods: isDemo ? ['get', 'post', 'delete'] : [],
    requestInterceptor: sendFormAsForm,
  });
}

/** A document whose descriptions of operations end with a request by curl. */
function withSamples(spec: ApiDocument, credentials: Credentials): ApiDocument {
  const [server] = spec.servers ?? [];
  const origin = server?.url ?? 'https://login.example.com';
  const paths = structuredClone(spec.paths);
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const sample = curlSample(method, `${origin}${path}`, operation, credentials);
      operation.description = `${operation.description ?? ''}\n\n\`\`\`sh\n${sample}\n\`\`\``;
    }
  }
  return { ...spec, paths };
}

/**
 * Places in the order of use: the token first, then from general to particular, and what deletes
 * last.
 */
function placeOf(operation: Map<string, string>): number {
  const path = operation.get('path') ?? '';
  if (path.endsWith('/token')) return 0;
  return path.split('/').length + (operation.get('method') === 'delete' ? 100 : 0);
}

/** Swagger UI edits a form that has alternatives as JSON, and would send it as JSON. */
function sendFormAsForm(request: SentRequest): SentRequest {
  const isForm = request.headers['Content-Type'] === 'application/x-www-form-urlencoded';
  if (!isForm || typeof request.body !== 'string' || !request.body.trimStart().startsWith('{'))
    return request;
  return { ...request, body: new URLSearchParams(JSON.parse(request.body)).toString() };
}

function showDemo(): void {
  const bar = document.querySelector<HTMLElement>('#demo');
  const status = bar?.querySelector('[role=status]');
  if (!bar || !status) return;
  bar.hidden = false;
  bar.querySelector('button')?.addEventListener('click', async () => {
    status.textContent = 'Filling in …';
    status.textContent = await fillIn().then(
      () =>
        'Filled in. An authorization code and a refresh token work once: click again for new ones.',
      (error) => `That did not work: ${error}`,
    );
  });
}

/** Authorizes every scheme, and puts working values into the examples. */
async function fillIn(): Promise<void> {
  const { basic, tokens, examples }: DemoCredentials = JSON.parse(
    await read('demo', { method: 'POST' }),
  );
  const filled = JSON.stringify(apiDocument, (_, value) =>
    typeof value === 'string' ? (examples[value] ?? value) : value,
  );
  // Shown anew: an example that is open in an editor would not change.
  const ui = show(withSamples(JSON.parse(filled), { basic, tokens }));
  for (const [scheme, { username, password }] of Object.entries(basic)) {
    ui.preauthorizeBasic(scheme, username, password);
  }
  for (const [scheme, token] of Object.entries(tokens)) ui.preauthorizeApiKey(scheme, token);
}

async function read(url: string, init?: RequestInit): Promise<string> {
  const response = await fetch(url, init);
  if (!response.ok) throw new Error(`${url} answered with ${response.status}.`);
  return response.text();
}

/**
 * Attributes that Swagger UI leaves out: without them, some of its elements have no name or are out
 * of a keyboard's reach.
 */
const mended: Record<string, Record<string, string | ((element: Element) => string)>> = {
  // Headings of groups and of parts follow the one above them.
  ':is(h3.opblock-tag, .models > h4)': { 'aria-level': '2' },
  'h4.opblock-title': { 'aria-level': '3' },
  '.information-container': { role: 'region', 'aria-label': 'About this API' },
  '.scheme-container': { role: 'region', 'aria-label': 'Server and credentials' },
  'select#servers': { 'aria-label': 'Server' },
  '.parameters-col_description :is(select, input, textarea)': { 'aria-label': parameterOf },
  'textarea.body-param__text': { 'aria-label': 'Request body' },
  '.body-param-content-type select': { 'aria-label': 'Content type of the request' },
  'select.examples-select-element': { 'aria-label': 'Example' },
  'table[role=region]': { 'aria-label': (table) => `Responses of ${operationOf(table)}` },
  pre: { tabindex: '0' },
};

function parameterOf(field: Element): string {
  return field.closest('tr')?.getAttribute('data-param-name') ?? 'Value';
}

const operationOf = (element: Element): string =>
  element.closest('.opblock')?.querySelector('.opblock-summary-description')?.textContent ??
  'an operation';

/** Adds the attributes to elements that have appeared. */
function mend(): void {
  for (const [selector, attributes] of Object.entries(mended)) {
    for (const element of document.querySelectorAll(selector)) {
      for (const [name, value] of Object.entries(attributes)) {
        element.setAttribute(name, typeof value === 'string' ? value : value(element));
      }
    }
  }
}
