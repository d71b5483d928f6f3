interface SwaggerUi {
  preauthorizeBasic(scheme: string, username: string, password: string): void;
  preauthorizeApiKey(scheme: string, value: string): void;
}

type Operation = Map<'path' | 'method', string>;

interface SentRequest {
  url: string;
  headers: Record<string, string>;
  body?: unknown;
}

declare const SwaggerUIBundle: (options: object) => SwaggerUi;

interface DemoCredentials {
  basic: Record<string, { username: string; password: string }>;
  tokens: Record<string, string>;
  /** Values for the placeholders of the examples. */
  examples: Record<string, string>;
}

const page = document.documentElement;
const { document: documentUrl = '', demo: demoUrl } = page.dataset;
// Without the headers of each response: nearly all are the same, and they took more room than the rest of an operation.
const apiDocument: { servers?: object[] } = JSON.parse(
  JSON.stringify(await readJson<object>(documentUrl), (name, value) =>
    name === 'headers' ? undefined : value,
  ),
);
// The page calls the server that it came from, under the name that the browser knows it by.
if (demoUrl !== undefined) apiDocument.servers = [{ url: location.origin }];

const dark = matchMedia('(prefers-color-scheme: dark)');
const followColorScheme = () => page.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followColorScheme);
followColorScheme();

new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
show(apiDocument);
if (demoUrl !== undefined) showDemo(demoUrl);

/** Shows a document in the place of what was shown before. The operation that the address names is open. */
function show(spec: object): SwaggerUi {
  const domNode = document.createElement('div');
  document.querySelector('#api')?.replaceChildren(domNode);
  return SwaggerUIBundle({
    spec,
    domNode,
    validatorUrl: null,
    deepLinking: true,
    docExpansion: 'list',
    operationsSorter: (a: Operation, b: Operation) => placeOf(a) - placeOf(b),
    plugins: [withoutLinksInButtons],
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    tryItOutEnabled: demoUrl !== undefined,
    supportedSubmitMethods: demoUrl === undefined ? [] : ['get', 'post', 'delete'],
    requestInterceptor: sendFormAsForm,
  });
}

/** Places in the order of use: the token first, then from general to particular, and what deletes last. */
function placeOf(operation: Operation): number {
  const path = operation.get('path') ?? '';
  if (path.endsWith('/token')) return 0;
  return path.split('/').length + (operation.get('method') === 'delete' ? 100 : 0);
}

/** The path of an operation is a link within the button that opens it, which does the same. */
function withoutLinksInButtons() {
  const DeepLink =
    (
      _: unknown,
      { React }: { React: { createElement(type: string, properties: null, text: string): unknown } },
    ) =>
    ({ text }: { text: string }) =>
      React.createElement('span', null, text);
  return { wrapComponents: { DeepLink } };
}

/** Swagger UI edits a form that has alternatives as JSON, and would send it as JSON. */
function sendFormAsForm(request: SentRequest): SentRequest {
  const isForm = request.headers['Content-Type'] === 'application/x-www-form-urlencoded';
  if (!isForm || typeof request.body !== 'string' || !request.body.trimStart().startsWith('{'))
    return request;
  return { ...request, body: new URLSearchParams(JSON.parse(request.body)).toString() };
}

function showDemo(url: string): void {
  const bar = document.querySelector<HTMLElement>('#demo');
  const status = bar?.querySelector('[role=status]');
  if (!bar || !status) return;
  bar.hidden = false;
  bar.querySelector('button')?.addEventListener('click', async () => {
    status.textContent = 'Filling in …';
    try {
      await fillIn(url);
      status.textContent =
        'Filled in. An authorization code and a refresh token work once: click again for new ones.';
    } catch (error) {
      status.textContent = `That did not work: ${error}`;
    }
  });
}

/** Authorizes every scheme, and puts what works into the examples. */
async function fillIn(url: string): Promise<void> {
  const { basic, tokens, examples } = await readJson<DemoCredentials>(url, { method: 'POST' });
  const filled = JSON.stringify(apiDocument, (_, value) =>
    typeof value === 'string' ? (examples[value] ?? value) : value,
  );
  // Anew, since an example that is open in an editor would stay as it is.
  const ui = show(JSON.parse(filled));
  for (const [scheme, { username, password }] of Object.entries(basic)) {
    ui.preauthorizeBasic(scheme, username, password);
  }
  for (const [scheme, token] of Object.entries(tokens)) ui.preauthorizeApiKey(scheme, token);
}

async function readJson<Value>(url: string, init?: RequestInit): Promise<Value> {
  const response = await fetch(url, init);
  if (!response.ok) throw new Error(`${url} answered with ${response.status}.`);
  return response.json();
}

/**
 * Attributes that Swagger UI leaves out: without them, part of what it draws has no name, or is out of a keyboard's reach.
 * Each is added when its element appears.
 */
const mended: [selector: string, attributesOf: (element: Element) => Record<string, string>][] = [
  // Headings of groups and of parts follow the one above them.
  [':is(h3.opblock-tag, .models > h4)', () => ({ 'aria-level': '2' })],
  ['h4.opblock-title', () => ({ 'aria-level': '3' })],
  ['.information-container', () => ({ role: 'region', 'aria-label': 'About this API' })],
  ['.scheme-container', () => ({ role: 'region', 'aria-label': 'Server and credentials' })],
  ['select#servers', () => ({ 'aria-label': 'Server' })],
  [
    '.parameters-col_description :is(select, input, textarea)',
    (field) => ({ 'aria-label': parameterOf(field) }),
  ],
  ['textarea.body-param__text', () => ({ 'aria-label': 'Request body' })],
  ['.body-param-content-type select', () => ({ 'aria-label': 'Content type of the request' })],
  ['select.examples-select-element', () => ({ 'aria-label': 'Example' })],
  ['table[role=region]', (table) => ({ 'aria-label': `Responses of ${operationOf(table)}` })],
  ['pre', () => ({ tabindex: '0' })],
];

const parameterOf = (field: Element): string =>
  field.closest('tr')?.getAttribute('data-param-name') ?? 'Value';

const operationOf = (element: Element): string =>
  element.closest('.opblock')?.querySelector('.opblock-summary-description')?.textContent ?? 'an operation';

function mend(): void {
  for (const [selector, attributesOf] of mended) {
    for (const element of document.querySelectorAll(selector)) {
      for (const [name, value] of Object.entries(attributesOf(element))) {
        if (element.getAttribute(name) !== value) element.setAttribute(name, value);
      }
    }
  }
}

export {};
