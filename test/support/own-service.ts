import { localDynamoDb, startDynalite } from '../../infra/local/dynamodb.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { type Service, serviceOf } from './service.ts';
import { startService } from './start-service.ts';

/** A service of a test's own, whose store the test can watch, disturb and read item by item. */
export interface OwnService {
  service: Service;
  proxy: FaultProxy;
  /** Past the proxy. */
  dynamoDb: ReturnType<typeof localDynamoDb>;
  tableName: string;
  /** The folder that `operator --local` looks into. */
  directory: string;
  stop(): Promise<void>;
}

export async function startOwnService(environment: Record<string, string> = {}): Promise<OwnService> {
  const dynalite = await startDynalite();
  const proxy = await startFaultProxy(dynalite.url);
  const running = await startService({ ...environment, DYNAMODB_ENDPOINT: proxy.url });
  return {
    service: serviceOf(running.demo, running.directory),
    proxy,
    dynamoDb: localDynamoDb(dynalite.url),
    tableName: running.demo.table_name,
    directory: running.directory,
    stop: async () => {
      await running.stop();
      await proxy.close();
      await dynalite.close();
    },
  };
}
