import { serve } from '../../infra/local/loopback-server.ts';

/** A port of the loopback interface that nothing listens on at the moment. */
export async function freePort(): Promise<number> {
  const server = await serve(() => {});
  await server.close();
  return Number(new URL(server.url).port);
}
