import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // As many as the smallest machine has processors: most tests wait for others more than they compute.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'pure',
          setupFiles: ['test/close-opened.ts'],
          include: ['test/**/*.test.ts'],
          exclude: ['**/*.int.test.ts', '**/*.e2e.test.ts'],
          pool: 'threads',
          // Half of their time would go into reading the same modules anew; they keep no state in them.
          isolate: false,
          // They wait for nothing; what some compute takes its time on a busy machine.
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'int',
          setupFiles: ['test/close-opened.ts'],
          include: ['test/**/*.int.test.ts'],
          pool: 'forks',
          // As above: a new process and the same modules for each of a hundred files cost a minute of two processors.
          isolate: false,
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'e2e',
          setupFiles: ['test/close-opened.ts'],
          include: ['test/**/*.e2e.test.ts'],
          globalSetup: ['test/e2e-setup.ts'],
          pool: 'forks',
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
