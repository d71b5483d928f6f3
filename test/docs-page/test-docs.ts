import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { execa } from 'execa';
import type { Locator, Page } from 'playwright-core';
import * as v from 'valibot';
import { localDirectory } from '../../infra/local/local-files.ts';
import { serve } from '../../infra/local/loopback-server.ts';
import { startWebSite, origin as webSiteOrigin } from '../clients/web-site.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { startService } from '../support/start-service.ts';
import { countedChecks, runCheck, step } from '../support/steps.ts';
import { closeOperation, execute, fillIn, openOperation, startBrowser } from './browser.ts';

const example = v.object({ grant_type: v.string() });
const document = v.parse(
  v.object({
    paths: v.record(v.string(), v.record(v.string(), v.looseObject({ operationId: v.string() }))),
  }),
  JSON.parse(readFileSync('docs/openapi.json', 'utf8')),
);
const operations = Object.values(document.paths).flatMap((methods) =>
  Object.values(methods).map(({ operationId }) => operationId),
);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Uses the pages of `npm start` and `npm run docs` in a browser. `--pictures` renews those of
 * README and `.local/docs-page`.
 */
runCheck(async (cleanUps) => {
  await requireTools([tools.chromium, tools.font]);
  const withPictures = process.argv.includes('--pictures');
  const pictures = localDirectory('docs-page');
  const running = await step('Start the service on this machine', () => startService());
  cleanUps.defer(() => running.stop().then(() => {}));
  const { demo } = running;
  const webSite = await step('Start the web site of the quickstart', () =>
    startWebSite({
      BASE: demo.base_url,
      CLIENT: `${demo.login_app.client_id}:${demo.login_app.client_secret}`,
      GOOGLE_CLIENT_ID: 'provider_b-our-app',
      SIGN_IN_URL: `${demo.sandbox_url}/provider_b/auth`,
    }),
  );
  cleanUps.defer(() => void webSite.stop());
  const { visit, open, ...browser } = await step('Start the browser', () =>
    startBrowser(webSite.port),
  );
  cleanUps.use(browser);
  const page = `${running.demo.base_url}/docs`;
  const { check, conclude } = countedChecks('docs');

  await check('each grant issues a token by clicking', () =>
    visit(page, { width: 1200, colorScheme: 'light' }, async (tab) => {
      await fillIn(tab);
      const operation = await openOperation(tab, 'issue-token');
      const grants = operation.locator('.examples-select-element').first();
      const names = await grants.locator('option').allInnerTexts();
      assert.equal(names.length, 8);
      // The sandbox's providers keep no tokens that could be exchanged, unless they are told to.
      for (const name of names.filter((one) => one !== 'Token exchange')) {
        await grants.selectOption({ label: name });
        const sent = v.parse(example, JSON.parse(await operation.locator('textarea').inputValue()));
        const { status, body } = await execute(operation);
        assert.equal(status, 200, `${name}, ${sent.grant_type}: ${body}`);
        assert.match(body, /"access_token": "eyJ/);
      }
    }),
  );

  await check('a person signs in at the web quickstart, cancels once, and signs out', () =>
    open(webSiteOrigin, async (tab) => {
      const signIn = tab.getByRole('link', { name: 'Sign in with Google' });
      await signIn.click();
      await tab.getByRole('button', { name: 'Cancel' }).click();
      await tab.getByText('You did not allow the sign-in').waitFor();
      await tab.getByRole('link', { name: 'Back' }).click();
      await signIn.click();
      await tab.getByRole('button', { name: 'Sign in' }).click();
      await tab.getByText('Hello, alice.').waitFor();
      assert.equal(new URL(tab.url()).origin, webSiteOrigin);
      await tab.getByRole('button', { name: 'Sign out' }).click();
      await signIn.waitFor();
    }),
  );

  await check('an access request is searched by clicking', () =>
    visit(page, { width: 1200, colorScheme: 'light' }, async (tab) => {
      await fillIn(tab);
      const operation = await openOperation(tab, 'search-events');
      const { status, body } = await execute(operation);
      assert.equal(status, 200);
      const { total, results } = JSON.parse(body);
      assert.deepEqual([total, results[0].comment], [3, 'A page is missing.']);
    }),
  );

  await check('every endpoint can be tried out', () =>
    visit(page, { width: 1200, colorScheme: 'light' }, async (tab) => {
      for (const id of operations) {
        // Some end the session or delete the person, so each has credentials of its own.
        await fillIn(tab);
        const operation = await openOperation(tab, id);
        const { status, body } = await execute(operation);
        assert.ok(status >= 200 && status < 300, `${id}: ${status} ${body}`);
        await closeOperation(operation);
      }
    }),
  );

  await check('each operation shows its request by curl before it is sent', () =>
    visit(page, { width: 1200, colorScheme: 'light' }, async (tab) => {
      for (const id of operations) {
        const operation = await openOperation(tab, id);
        assert.match(await sampleOf(operation), /^curl .*'http:\/\/127\.0\.0\.1:\d+\//);
        await closeOperation(operation);
      }
      await fillIn(tab);
      const working = ['issue-token', 'search-events', 'register-device', 'end-session'];
      for (const id of working) {
        const command = await sampleOf(await openOperation(tab, id));
        const { stdout } = await execa('sh', ['-c', `${command} -s -w '\n%{http_code}'`]);
        assert.match(stdout, /\n20\d$/, `${command} ${stdout}`);
      }
    }),
  );

  await check('the methods differ in colour', () =>
    visit(page, { width: 1200, colorScheme: 'light' }, async (tab) => {
      const colours = await Promise.all(
        ['get', 'post', 'delete'].map((method) =>
          tab.evaluate(
            `getComputedStyle(document.querySelector('.opblock-${method} .opblock-summary-method')).backgroundColor`,
          ),
        ),
      );
      assert.equal(new Set(colours).size, 3, colours.join());
    }),
  );

  await check('the token comes first, and what deletes comes last', () =>
    visit(page, { width: 1200, colorScheme: 'light' }, async (tab) => {
      const ids = (await tab.locator('.opblock').evaluateAll((all) => all.map(({ id }) => id))).map(
        (id) => id.replace(/^operations-[^-]+-/, ''),
      );
      assert.equal(ids[0], 'issue-token');
      assert.deepEqual([...ids].sort(), [...operations].sort());
      for (const group of await tab.locator('.opblock-tag-section').all()) {
        const deleting = await group
          .locator('.opblock')
          .evaluateAll((blocks) =>
            blocks.map((block) => block.classList.contains('opblock-delete')),
          );
        assert.deepEqual(deleting, deleting.toSorted());
      }
    }),
  );

  for (const { colorScheme, width } of [
    { colorScheme: 'light', width: 390 },
    { colorScheme: 'dark', width: 1200 },
  ] as const) {
    await check(`readable, ${colorScheme}, ${width} pixels wide`, () =>
      visit(page, { width, colorScheme }, async (tab) => {
        await fillIn(tab);
        for (const id of ['issue-token', 'search-events', 'end-device-relation']) {
          await execute(await openOperation(tab, id));
        }
        if (withPictures)
          await tab.screenshot({
            path: join(pictures, `${colorScheme}-${width}.png`),
            fullPage: true,
          });
        assert.equal(await tab.evaluate('document.documentElement.scrollWidth'), width);
        assert.deepEqual(await cutOff(tab), []);
        assert.deepEqual(await cutOffChoices(tab), []);
        assert.equal(await tab.locator('.response-col_links:visible').count(), 0);
        const title = await tab.evaluate(
          "getComputedStyle(document.querySelector('.info .title')).color.match(/\\d+/g).map(Number)",
        );
        assert.equal(
          Math.min(...v.parse(v.array(v.number()), title)) > 128,
          colorScheme === 'dark',
        );
        assert.deepEqual(await barriers(tab), []);
      }),
    );
  }

  if (withPictures) {
    await visit(page, { width: 1000, colorScheme: 'light' }, async (tab) => {
      await fillIn(tab);
      await tab.screenshot({
        path: 'docs/api-page.png',
        clip: { x: 0, y: 0, width: 1000, height: 700 },
      });
    });
  }

  await check('a page of another name gets no credentials', async () => {
    assert.equal(await statusFor(`${page}/demo`, 'rebound.example'), 403);
    assert.equal(await statusFor(`${page}/demo`, new URL(page).host), 200);
  });

  const site = localDirectory('docs-page', 'site');
  await step('npm run docs', () =>
    execa('npm', ['run', '-s', 'docs', '--', site, '--server', 'https://login.example.com']),
  );
  await check('the static files show the API, from any folder, and send nothing', async () => {
    await using server = await serveFolder(site);
    await visit(`${server.url}/some/where/`, { width: 1200, colorScheme: 'light' }, async (tab) => {
      assert.equal(await tab.locator('.opblock').count(), operations.length);
      const operation = await openOperation(tab, 'issue-token');
      await operation.getByText('invalid_grant').first().waitFor();
      assert.equal(await tab.getByRole('button', { name: 'Execute' }).count(), 0);
      assert.equal(await tab.getByRole('button', { name: /Fill in/ }).count(), 0);
      await tab.getByText('https://login.example.com').first().waitFor({ state: 'attached' });
    });
  });

  conclude();
});

const axeResults = v.object({
  violations: v.array(
    v.object({
      id: v.string(),
      nodes: v.array(v.object({ html: v.string(), failureSummary: v.string() })),
    }),
  ),
});

/** Every barrier that axe finds on the page, by all of its rules. */
async function barriers(tab: Page): Promise<string[]> {
  // Colours on their way from one to another are none that anybody reads.
  await tab.evaluate(
    'Promise.allSettled(document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished))',
  );
  await tab.evaluate(axe);
  const { violations } = v.parse(axeResults, await tab.evaluate('axe.run()'));
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

/** The command that an open operation shows. */
async function sampleOf(operation: Locator): Promise<string> {
  const shown = await operation.locator('.opblock-description pre').last().textContent();
  return (shown ?? '').trim();
}

/** Every element that ends beyond the window's right edge and can't be scrolled to. */
const cutOff = async (tab: Page): Promise<string[]> =>
  v.parse(
    v.array(v.string()),
    await tab.evaluate(
      "[...document.body.querySelectorAll('*')].filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !element.closest('pre')).map(({ outerHTML }) => outerHTML.slice(0, 200))",
    ),
  );

/** The chosen values of lists that are too narrow for them. */
const cutOffChoices = async (tab: Page): Promise<string[]> =>
  v.parse(
    v.array(v.string()),
    await tab.evaluate(`[...document.querySelectorAll('select')].flatMap((select) => {
      const { font, paddingLeft, paddingRight } = getComputedStyle(select);
      const pen = document.createElement('canvas').getContext('2d');
      pen.font = font;
      const text = select.selectedOptions[0]?.text ?? '';
      const room = select.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
      return pen.measureText(text).width > room + 1 ? [text] : [];
    })`),
  );

/** The status of a POST that names a host. */
const statusFor = (url: string, host: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(url, { method: 'POST', headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });

/** A web server for the files of a folder, below any path. */
async function serveFolder(folder: string): Promise<{ url: string } & AsyncDisposable> {
  const types = {
    html: 'text/html',
    js: 'text/javascript',
    css: 'text/css',
    json: 'application/json',
  };
  const { url, close } = await serve(({ url: path = '' }, response) => {
    const name = path.slice(path.lastIndexOf('/') + 1) || 'index.html';
    response.setHeader(
      'content-type',
      Reflect.get(types, name.slice(name.lastIndexOf('.') + 1)) ?? 'text/plain',
    );
    response.end(readFileSync(join(folder, name)));
  });
  return { url, [Symbol.asyncDispose]: close };
}
