/** The end-to-end tests, and those that only a cluster can run; started by scripts/test-cluster.ts alone. */
import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: resolve(import.meta.dirname, '..', '..'),
    name: 'cluster',
    include: ['test/**/*.e2e.test.ts', 'test/cluster/*.cluster.ts'],
    globalSetup: ['test/e2e-setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // A step on PostgreSQL takes twice as long, and a server of a test's own some ten seconds to start.
    testTimeout: 240_000,
    hookTimeout: 240_000,
  },
});
