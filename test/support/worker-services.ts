import { type LoopbackServer, serve } from '../../infra/local/loopback-server.ts';
import { type RunningService, startService } from './start-service.ts';

/**
 * Starts a service for each jest worker that asks for one: `?worker=1&store=URL` answers with the folder of the worker's
 * service, whose clock is movable and whose store is at that address. Close it to end them all.
 */
export async function serveWorkerServices(): Promise<LoopbackServer> {
  const started = new Map<string, Promise<RunningService>>();
  const server = await serve(async (request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://localhost');
    const [worker = '', store = ''] = ['worker', 'store'].map((name) => searchParams.get(name) ?? undefined);
    const starting =
      started.get(worker) ?? startService({ DYNAMODB_ENDPOINT: store }, { movableClock: true });
    started.set(worker, starting);
    const answer = await starting.then(
      ({ directory }) => ({ status: 200, text: directory }),
      (error: unknown) => ({ status: 500, text: String(error) }),
    );
    response.writeHead(answer.status).end(answer.text);
  });
  const close = async () => {
    await server.close();
    const services = await Promise.all(started.values());
    const ends = await Promise.allSettled(services.map(({ stop }) => stop()));
    const failed = ends.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  };
  return { url: server.url, close };
}
