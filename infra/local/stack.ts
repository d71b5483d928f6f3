import { randomBytes, randomUUID } from 'node:crypto';
import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { epochSeconds } from '../../lib/foundation/clock.ts';
import { keyThatSigns, parseKeySet } from '../../lib/signing/key-set.ts';
import { wantedAlgorithm } from '../../lib/signing/rotate.ts';
import { type AwsEndpoint, invokeFunction } from '../operator/call/invoke-function.ts';
import { type Bus, type InvocableFunction, type LocalAws, startLocalAws } from './aws.ts';
import { letInGuests, reviveDemo, seedDemo } from './demo.ts';
import { copyTable, createTable, deleteTable, localDynamoDb } from './dynamodb.ts';
import { startEmbeddedStore } from './embedded-store.ts';
import { gateway, type Route } from './gateway.ts';
import { loadOtherFunctions, loadRoutes, setEnvironment } from './load-functions.ts';
import { type LocalData, portOf } from './local-data.ts';
import { otherData } from './local-files.ts';
import { loadLoginHook } from './login-hook.ts';
import { type LoopbackServer, loopback, serve } from './loopback-server.ts';
import { publishChanges } from './publish-changes.ts';
import { startSandbox } from './sandbox/sandbox.ts';

const serviceSecrets = ['refresh-tokens', 'provider-settings'];

export interface StackOptions {
  /** The API's port; 0 takes a free one. */
  port: number;
  /**
   * The address of this machine at which the API and the sandbox listen.
   * @default 127.0.0.1
   */
  host?: string | undefined;
  /**
   * The address by which others reach this machine, which is part of the issuer.
   * @default 127.0.0.1
   */
  knownAs?: string;
  /**
   * Another store, whose changes are not published.
   * @default the embedded one
   */
  otherStore?: LoopbackServer | undefined;
  /** Keeps the data for the next start; without it they end with the process. */
  data?: LocalData | undefined;
  /** Takes a line for each request. */
  print?: (line: string) => void;
  /** Receivers of what is published. Without them, nothing is. */
  bus?: Bus | undefined;
  /**
   * Whether what fills the table with the demo is published, too.
   * @default false
   */
  isDemoPublished?: boolean;
}

/**
 * Starts a whole deployment with the sandbox and a demo on this machine, one in a process.
 * @throws listen errors: EADDRINUSE
 */
export async function startStack(options: StackOptions) {
  const { port, host, knownAs = loopback, otherStore, data, bus } = options;
  const { print = () => {} } = options;
  const listening = { host, print };
  const changes = bus && publishChanges();
  const startStore = async (): Promise<LoopbackServer> =>
    otherStore ?? startEmbeddedStore({ path: data?.tableFolder, takeChange: changes?.add });
  const routes: Route[] = [];
  const functions = new Map<string, InvocableFunction>();
  // First, so that a taken port fails before anything else starts.
  const api = await serve(gateway(routes, print), port, listening);
  const base_url = api.url.replace(loopback, knownAs);
  const stackUrls = [...new Set([api.url, base_url])];
  const [aws, sandbox, { store, dynamoDb, table_name }] = await Promise.all([
    startLocalAws(functions, { ...bus, print, secretsFile: data?.secretsFile }),
    startSandbox(data?.saved && portOf(data.saved.sandbox_url), data?.folder, {
      ...listening,
      stackUrls,
    }),
    openStore(startStore, data),
  ]);
  const addresses = {
    base_url,
    sandbox_url: sandbox.url,
    dynamodb_endpoint: store.url,
    table_name,
  };

  aws.secrets.create('signing-keys', 'to be replaced by the first rotation');
  for (const id of serviceSecrets) aws.secrets.create(id, randomBytes(48).toString('base64url'));
  setEnvironment(addresses, aws.endpoint);
  // As a deployment does before its code is live, and after it.
  const { formatProblem, recordFormat } = await import('../../lib/storage/table-format.ts');
  const problem = await formatProblem();
  if (problem !== undefined) throw new Error(problem);
  await recordFormat();
  await loadOtherFunctions(functions);
  // The name of the login hook is the path of its file.
  const { LOGIN_HOOK } = process.env;
  if (LOGIN_HOOK) functions.set(LOGIN_HOOK, await loadLoginHook(LOGIN_HOOK, print));
  // RSA keys are generated on other threads while this one loads the routes.
  const rotateAll = () =>
    Promise.all([rotateSigningKeys(aws.endpoint), rotateServiceSecrets(aws.endpoint)]);
  await Promise.all([data?.saved ? followAlgorithm(aws) : rotateAll(), loadRoutes(routes)]);

  const call = async (key: string, event: object) =>
    functions.get(key)?.(event, { awsRequestId: randomUUID() });
  const beginPublishing = () => changes?.begin((event) => call('publish-events', event));
  if (options.isDemoPublished) beginPublishing();
  // The log says what failed.
  const finish = () => call('finish-deletions', {}).catch(() => undefined);
  const schedule = setInterval(finish, 600_000);

  const demoStack = { addresses, sandbox, operator: { name: 'operator', endpoint: aws.endpoint } };
  const demo = data?.saved
    ? await reviveDemo(demoStack, data.saved.demo)
    : await seedDemo(demoStack);
  await letInGuests(demoStack, demo);
  const { base_url: url, sandbox_url } = demo;
  const save = (stopped: boolean) => data?.save({ url, sandbox_url, table_name, stopped, demo });
  save(false);
  return {
    demo,
    /** The API's routes; more may be added. */
    routes,
    awsEndpoint: aws.endpoint,
    /** Publishes what changes from now on. */
    beginPublishing,
    close: async () => {
      clearInterval(schedule);
      await api.close();
      await changes?.end();
      await Promise.all([aws, sandbox].map((server) => server.close()));
      if (!data) await deleteTable(dynamoDb, table_name);
      await store.close();
      save(true);
    },
  };
}

/**
 * Starts the store and opens the stack's table in it.
 * @throws Error when the kept table is damaged
 */
async function openStore(startStore: () => Promise<LoopbackServer>, data: LocalData | undefined) {
  const open = async () => {
    const store = await startStore();
    const dynamoDb = localDynamoDb(store.url);
    return { store, dynamoDb, table_name: await openTable(dynamoDb, data) };
  };
  if (!data?.saved) return open();
  // dynalite cannot say that its files are damaged: it throws where nothing catches it.
  const thrown = Promise.withResolvers<never>();
  process.once('uncaughtException', thrown.reject);
  try {
    return await Promise.race([open(), thrown.promise]);
  } catch (cause) {
    throw new Error(`The table in ${data.tableFolder} is damaged. ${otherData}`, { cause });
  } finally {
    process.off('uncaughtException', thrown.reject);
  }
}

/** The name of the table that was kept, or of a new one. */
async function openTable(dynamoDb: DynamoDBClient, data: LocalData | undefined): Promise<string> {
  const saved = data?.saved;
  if (saved?.stopped) {
    await dynamoDb.send(new DescribeTableCommand({ TableName: saved.table_name }));
    data?.save({ ...saved, stopped: false });
    return saved.table_name;
  }
  const table_name = `login-service-${randomUUID()}`;
  if (!saved) {
    await createTable(dynamoDb, table_name);
    return table_name;
  }
  await copyTable(dynamoDb, saved.table_name, table_name);
  data.save({ ...saved, table_name });
  await deleteTable(dynamoDb, saved.table_name);
  return table_name;
}

/**
 * The steps of a rotation, in their order.
 * @see AWS Secrets Manager user guide, "Lambda rotation functions"
 */
export const rotationSteps = ['createSecret', 'setSecret', 'testSecret', 'finishSecret'] as const;

/**
 * Rotates a secret as Secrets Manager does.
 * @param rotation the name of the rotation function
 */
export async function rotateSecret(
  endpoint: AwsEndpoint,
  rotation: string,
  SecretId: string,
): Promise<void> {
  const ClientRequestToken = randomUUID();
  for (const Step of rotationSteps) {
    await invokeFunction({ name: rotation, endpoint }, { SecretId, ClientRequestToken, Step });
  }
}

export const rotateSigningKeys = (endpoint: AwsEndpoint): Promise<void> =>
  rotateSecret(endpoint, 'rotate-signing-keys', 'signing-keys');

export async function rotateServiceSecrets(endpoint: AwsEndpoint): Promise<void> {
  for (const id of serviceSecrets) await rotateSecret(endpoint, 'rotate-service-secrets', id);
}

/**
 * Lets kept keys sign with the algorithm that is set now: at once, since no other process has
 * cached them.
 */
async function followAlgorithm({ secrets, endpoint }: LocalAws): Promise<void> {
  const SecretId = 'signing-keys';
  const algorithm = wantedAlgorithm();
  const kept = () => parseKeySet(secrets.current(SecretId) ?? '');
  if (kept()?.next.alg !== algorithm) await rotateSigningKeys(endpoint);
  const set = kept();
  if (!set || keyThatSigns(set).alg === algorithm) return;
  const SecretString = JSON.stringify({ ...set, takes_over_at: epochSeconds() });
  secrets.answer('PutSecretValue', { SecretId, SecretString });
}
