import { paginateQuery, paginateScan } from '@aws-sdk/client-dynamodb';
import { TestEnvironment } from 'jest-environment-node';
import { createTable, deleteTable, localDynamoDb } from '../../infra/local/dynamodb.ts';
import { callOperator } from '../../infra/operator/call/call-operator.ts';
import { invokeFunction } from '../../infra/operator/call/invoke-function.ts';
import { assertDocumented, documentedFetch } from './api-document.ts';
import { workerServer, workerStore } from './worker-store.ts';

/** What all test files of a worker share. */
export const ofWorker = {
  workerServer,
  workerStore,
  assertDocumented,
  documentedFetch,
  callOperator,
  invokeFunction,
  localDynamoDb,
  createTable,
  deleteTable,
  paginateQuery,
  paginateScan,
};

// Node takes down a worker's heap in half a second or more, after which jest kills the worker and
// speaks of a leak. An exit leaves that to the system; what is still open holds it up as before.
if (process.send) process.once('beforeExit', () => process.exit());

/**
 * Gives each test file what all files of its worker share. Jest loads other files anew for each
 * test file, but the environment only once.
 */
export default class extends TestEnvironment {
  constructor(...parameters: ConstructorParameters<typeof TestEnvironment>) {
    super(...parameters);
    this.global.ofWorker = ofWorker;
  }
}
