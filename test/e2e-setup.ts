/**
 * Once for all end-to-end tests: one Temporal server in memory and one workflow bundle. Each test file
 * takes a task queue and an id prefix of its own. `npm run test:cluster` names a cluster instead.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { keptBundle } from '../activities/kept-bundle.ts';
import { ensureTemporalBinary } from '../cli/setup/temporal-binary.ts';
import { startTemporalServer } from '../cli/temporal-server.ts';
import { testClusterSchema, type TestCluster } from './test-cluster.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** host:port; namespace `default`; fermata's search attributes are registered. */
    temporalAddress: string;
    /** The `temporal` program, for tests that start and kill a server of their own. */
    temporalBinary: string;
    /** What own-temporal.ts needs to start servers on the cluster's PostgreSQL; null: there is no cluster. */
    temporalCluster: TestCluster | null;
    /** JavaScript bundle of `workflows/index.ts`, under the name by which a worker finds it in its state directory. */
    workflowBundlePath: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stateDir = resolve(import.meta.dirname, '..', '.fermata');
  const folder = await mkdtemp(join(tmpdir(), 'fermata-e2e-'));
  const binary = await ensureTemporalBinary(stateDir, process.env['PATH'] ?? '', (line) =>
    process.stderr.write(`${line}\n`),
  );
  const cluster = await readCluster(process.env['TEST_TEMPORAL_CLUSTER']);
  const server =
    cluster ??
    (await startTemporalServer({
      binary,
      host: '127.0.0.1',
      port: 0,
      uiPort: null,
      databaseFile: null,
    }));
  const bundle = await keptBundle(folder);
  if (!('codePath' in bundle)) throw new Error(`the bundle of the workflows cannot be kept in ${folder}`);
  project.provide('temporalAddress', server.address);
  project.provide('temporalBinary', binary);
  project.provide('temporalCluster', cluster);
  project.provide('workflowBundlePath', bundle.codePath);
  return async () => {
    if ('close' in server) await server.close();
    await rm(folder, { recursive: true, force: true });
  };
}

async function readCluster(path: string | undefined): Promise<TestCluster | null> {
  if (path === undefined || path === '') return null;
  return testClusterSchema.parse(JSON.parse(await readFile(path, 'utf8')));
}
