import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { transformSync } from 'esbuild';

/** Sources of the page, relative to its own address. */
interface PageSources {
  document: string;
  /** The source of fresh credentials of the demo. Without it the page only shows the document, and sends nothing. */
  demo?: string;
}

const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

/** The browser may load and call this page's own origin alone. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** The texts of the page's files by name: Swagger UI from the installed package, and what is our own. */
export function pageFiles(sources: PageSources): Record<string, string> {
  const own = (name: string) => readFileSync(join(import.meta.dirname, 'browser', name), 'utf8');
  // Without the pointer to a source map that is not here.
  const theirs = (name: string) =>
    readFileSync(join(swaggerUi, name), 'utf8').replace(/^\/[/*]# sourceMappingURL=.*$/m, '');
  return {
    'index.html': html(sources),
    'page.js': transformSync(own('page.ts'), { loader: 'ts', target: 'es2022' }).code,
    'page.css': own('page.css'),
    'swagger-ui-bundle.js': theirs('swagger-ui-bundle.js'),
    'swagger-ui.css': theirs('swagger-ui.css'),
  };
}

const html = ({ document, demo }: PageSources): string => `<!doctype html>
<html lang="en" data-document="${document}"${demo === undefined ? '' : ` data-demo="${demo}"`}>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Login service API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="swagger-ui.css">
<link rel="stylesheet" href="page.css">
<script src="swagger-ui-bundle.js" defer></script>
<script src="page.js" type="module"></script>
</head>
<body>
<header id="demo" hidden>
<p>This is the stack on your machine, with a demo in it.</p>
<button type="button">Fill in the demo’s credentials</button>
<p role="status"></p>
</header>
<div id="api"></div>
</body>
</html>
`;
