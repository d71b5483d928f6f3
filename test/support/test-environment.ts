import { TestEnvironment } from 'jest-environment-node';
import { workerServer, workerStore } from './worker-store.ts';

/**
 * Gives each test file what all files of its worker share. Jest loads other files anew for each
 * test file, but the environment only once.
 */
export default class extends TestEnvironment {
  constructor(...parameters: ConstructorParameters<typeof TestEnvironment>) {
    super(...parameters);
    this.global.ofWorker = { workerServer, workerStore };
  }
}
