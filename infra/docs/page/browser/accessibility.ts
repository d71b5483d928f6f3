// Swagger UI leaves some of what it draws without a name or out of a keyboard's reach. Each part is mended when it appears.

/** Attributes of the elements that a selector finds. */
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

new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
mend();

export {};
