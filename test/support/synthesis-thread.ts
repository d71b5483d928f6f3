import { parentPort } from 'node:worker_threads';
import { readBody, serve } from '../../infra/local/loopback-server.ts';

/**
 * A thread of jest's main process that synthesizes deployments for all test files of a run, each once: outside of jest's
 * loading of modules, the CDK is loaded once and takes half the time. It posts its address when it is ready, and answers
 * `POST { settings, moreContext }` with the stacks, or with a 422 and the message of what the settings lack.
 */
const answers = new Map<string, Promise<{ status: number; text: string }>>();

async function answer(request: string): Promise<{ status: number; text: string }> {
  const { settings, moreContext } = JSON.parse(request);
  const { synthesize } = await import('./synthesize.ts');
  try {
    return { status: 200, text: JSON.stringify(synthesize(settings, moreContext)) };
  } catch (error) {
    return { status: 422, text: error instanceof Error ? error.message : String(error) };
  }
}

const { url } = await serve(async (request, response) => {
  const key = (await readBody(request)).toString();
  const made = answers.get(key) ?? answer(key);
  answers.set(key, made);
  const { status, text } = await made;
  response.writeHead(status).end(text);
});
parentPort?.postMessage(url);
