import type { Locator, Page } from 'playwright-core';

/** Clicks on the button for the demo's credentials and waits until they are filled in. */
export async function fillIn(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Fill in the demo’s credentials' }).click();
  await page.getByText('Filled in.').waitFor();
}

/** The part of the page about an operation, opened. @param id the operation's id, as in the API document */
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
  const status = Number((await live.locator('.response-col_status').innerText()).trim());
  const body = live.locator('.response-col_description .highlight-code .microlight').first();
  return { status, body: (await body.count()) > 0 ? await body.innerText() : '' };
}
