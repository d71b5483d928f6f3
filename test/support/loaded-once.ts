// What takes long to load or to compile: the AWS SDK, and the validators of the API document. Jest
// would do so anew for each test file, so its files take it from their worker; scripts load it here.

/** `fetch` that holds each response against the API document, and the check of one response. */
export const { documentedFetch, assertDocumented } =
  globalThis.ofWorker ?? (await import('./api-document.ts'));

/** Runs a command in the operator function. */
export const { callOperator } =
  globalThis.ofWorker ?? (await import('../../infra/operator/call/call-operator.ts'));

/** Invokes any function of a stack. */
export const { invokeFunction } =
  globalThis.ofWorker ?? (await import('../../infra/operator/call/invoke-function.ts'));

/** A client of the store, and the service's table in it. */
export const { localDynamoDb, createTable, deleteTable } =
  globalThis.ofWorker ?? (await import('../../infra/local/dynamodb.ts'));

/** The SDK's own, which take no client but one that was loaded with them. */
export const { paginateQuery, paginateScan } =
  globalThis.ofWorker ?? (await import('@aws-sdk/client-dynamodb'));
