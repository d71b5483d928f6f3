/**
 * `fetch` that holds each response against the API document. The files of a jest worker share the
 * document's validators, which take long to compile.
 */
export const { assertDocumented, documentedFetch } =
  globalThis.ofWorker ?? (await import('./api-document.ts'));
