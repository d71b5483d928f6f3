import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { buildSync } from 'esbuild';

const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

/** Our own script and what it imports, in one file. */
function bundledPage(): string {
  const { outputFiles } = buildSync({
    entryPoints: [join(import.meta.dirname, 'browser/page.ts')],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    write: false,
  });
  return outputFiles.map(({ text }) => text).join('');
}

/**
 * The page's files by name: Swagger UI's and our own.
 * @param isDemo whether it sends requests, with the demo's credentials
 */
export function pageFiles(isDemo: boolean): Map<string, string> {
  const own = (name: string) => readFileSync(join(import.meta.dirname, 'browser', name), 'utf8');
  // Without the pointer to a source map that is not here.
  const theirs = (name: string) =>
    readFileSync(join(swaggerUi, name), 'utf8').replace(/^\/[/*]# sourceMappingURL=.*$/m, '');
  return new Map([
    ['index.html', own('index.html').replace('<html', isDemo ? '<html data-demo' : '<html')],
    ['page.js', bundledPage()],
    ['page.css', own('page.css')],
    ['swagger-ui-bundle.js', theirs('swagger-ui-bundle.js')],
    ['swagger-ui.css', theirs('swagger-ui.css')],
  ]);
}
