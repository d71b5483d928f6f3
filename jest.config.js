export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  reporters: [
    'default',
    '<rootDir>/test/support/count-attacks.ts',
    '<rootDir>/test/support/note-outcomes.ts',
  ],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  testTimeout: 120_000,
  // One for each core; by itself, jest leaves one core to its own process, which has next to nothing to do.
  maxWorkers: '100%',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2024', experimental: { keepImportAttributes: true } }, module: { type: 'es6' } },
    ],
  },
};
