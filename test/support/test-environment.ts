import { TestEnvironment } from 'jest-environment-node';
import { assertDocumented, documentedFetch } from './api-document.ts';
import { workerServer, workerStore } from './worker-store.ts';

/** What all test files of a worker share. */
export const ofWorker = { workerServer, workerStore, assertDocumented, documentedFetch };

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
