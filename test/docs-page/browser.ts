import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';

interface Look {
  width: number;
  colorScheme: 'light' | 'dark';
}

const options = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
  // Root may not use the sandbox. The only pages are ours.
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
];

/**
 * Starts Debian's chromium, with an empty profile that is removed in the end.
 * @param site the port of this machine that is to be http://localhost:8080
 */
export async function startBrowser(site: string) {
  const executablePath = execFileSync('sh', ['-c', 'command -v chromium'], {
    encoding: 'utf8',
  }).trim();
  // No name leads to another machine, whatever asks for it.
  const names = `MAP localhost:8080 127.0.0.1:${site}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`;
  const args = [...options, `--host-resolver-rules=${names}`];
  const browser = await chromium.launch({ executablePath, args });
  return {
    /** Opens a page in a new window of its own, and hands it to the work. */
    open: async (url: string, work: (page: Page) => Promise<void>) => {
      const context = await browser.newContext();
      const problems = watch(context);
      const page = await context.newPage();
      await page.goto(url);
      await work(page);
      await context.close();
      // A page that shows an error has its status, and no page here has an icon.
      const others = problems.filter((one) => !one.startsWith('Failed to load resource'));
      assert.deepEqual(others, [], 'The page has errors, or calls another machine.');
    },
    /** Opens a page in a new window and hands it to the work. */
    visit: async (
      url: string,
      { width, colorScheme }: Look,
      work: (page: Page) => Promise<void>,
    ) => {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
      const problems = watch(context);
      const page = await context.newPage();
      await page.goto(url);
      await page.locator('.opblock').first().waitFor();
      await work(page);
      await context.close();
      assert.deepEqual(problems, [], 'The page has errors, or calls another machine.');
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

/**
 * Notes what must not happen in any page: an error on the console, a request to another machine, a
 * request that fails.
 */
function watch(context: BrowserContext): string[] {
  const problems: string[] = [];
  context.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (protocol !== 'data:' && !['127.0.0.1', 'localhost'].includes(hostname))
      problems.push(`a request to ${request.url()}`);
  });
  context.on('requestfailed', (request) => problems.push(`failed: ${request.url()}`));
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text());
  });
  context.on('weberror', (error) => problems.push(String(error.error())));
  return problems;
}

/** Clicks on the button for the demo's credentials and waits until they are filled in. */
export async function fillIn(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Fill in the demo’s credentials' }).click();
  await page.getByText('Filled in.').waitFor();
}

/**
 * The part of the page about an operation, opened.
 * @param id the operation's id, as in the API document
 */
export async function openOperation(page: Page, id: string): Promise<Locator> {
  const operation = page.locator(`.opblock[id$="-${id}"]`);
  if (!(await operation.getAttribute('class'))?.includes('is-open')) {
    await operation.locator('.opblock-summary-control').click();
  }
  await operation.locator('.opblock-body').waitFor();
  return operation;
}

/** Many open ones make the page slow. */
export const closeOperation = (operation: Locator): Promise<void> =>
  operation.locator('.opblock-summary-control').click();

/** Clicks on Execute; the status and the body that the page shows. */
export async function execute(operation: Locator): Promise<{ status: number; body: string }> {
  const clear = operation.getByRole('button', { name: 'Clear' });
  if (await clear.isVisible()) await clear.click();
  await operation.getByRole('button', { name: 'Execute' }).click();
  const live = operation.locator('.live-responses-table .response');
  const status = Number(await live.locator('.response-col_status').textContent());
  const body = live.locator('.response-col_description .highlight-code .microlight').first();
  const shown = (await body.count()) > 0 ? await body.textContent() : null;
  return { status, body: shown ?? '' };
}
