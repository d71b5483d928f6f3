import { type PageFile, pageFiles } from '../docs/page/page-files.ts';
import type { Demo } from './demo.ts';
import { demoCredentials } from './demo-credentials.ts';
import type { Route } from './gateway.ts';

type Handler = Route['handler'];

/** The routes of the page that shows the API document and tries it out, with the demo's credentials. Of this machine alone. */
export function docsRoutes(demo: Demo): Route[] {
  let files: Map<string, PageFile> | undefined;
  const serveFile = async (name = '') => {
    files ??= pageFiles({ document: '../openapi.json', demo: 'demo' });
    const file = files.get(name);
    return file ? answer(200, file.text, file.contentType) : notFound;
  };
  return [
    route('GET', '/docs', async () => ({ statusCode: 302, headers: { location: '/docs/' } })),
    route('GET', '/docs/', () => serveFile('index.html')),
    route('GET', '/docs/{file}', ({ pathParameters }) => serveFile(pathParameters?.file)),
    route('POST', '/docs/demo', async () =>
      answer(200, JSON.stringify(await demoCredentials(demo)), 'application/json'),
    ),
  ];
}

const route = (method: 'GET' | 'POST', path: string, handler: Handler): Route => ({
  endpoint: { method, path },
  handler,
});

const answer = (statusCode: number, body: string, contentType: string) => ({
  statusCode,
  headers: { 'content-type': contentType, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
  body,
});

const notFound = answer(404, '{"message":"Not Found"}', 'application/json');
