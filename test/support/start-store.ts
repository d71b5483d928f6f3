import { startDynalite } from '../../infra/local/dynamodb.ts';
import type { LoopbackServer } from '../../infra/local/loopback-server.ts';

/** The store of a test: the one that `DYNAMODB_ENDPOINT` names, or else one in this process. */
export async function startStore(): Promise<LoopbackServer> {
  const { DYNAMODB_ENDPOINT: url } = process.env;
  return url ? { url, close: async () => {} } : startDynalite();
}
