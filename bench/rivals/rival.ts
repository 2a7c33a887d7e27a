/**
 * Rivals: routers of others, each a process of its own from its published wheel, before the same engines.
 * They are run as their makers ship them: the policy and the addresses are given, everything else is their
 * default. A rival that cannot be had is a SetupFault whose line says what to do.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { findFreePort } from '../../cli/setup/free-port.ts';
import { ensureVenv } from '../../cli/setup/private-venv.ts';
import type { Progress } from '../../cli/setup/setup-fault.ts';
import { startProcess, untilReady, type RunningProcess } from '../overhead/processes.ts';

export type RivalPolicy = 'cache_aware' | 'round_robin';

/** What differs between them. */
export interface RivalKind {
  /** Name of its package, and of its arm. */
  readonly name: string;
  readonly version: string;
  /** As a person reads it. */
  readonly purpose: string;
  /** Python module that launches it. */
  readonly module: string;
  /** Beyond those that all of them take. */
  readonly args?: readonly string[];
}

export interface RivalDeps {
  /** Folder of its log. */
  readonly workDir: string;
  /** Holds `tools/`, where each rival is installed once. */
  readonly toolsDir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly progress: Progress;
  /** Default `cache_aware`. */
  readonly policy?: RivalPolicy;
}

export interface RunningRival {
  readonly name: string;
  readonly version: string;
  readonly url: string;
  readonly process: RunningProcess;
  close(): Promise<void>;
}

/** Starts one before `engineUrls`; resolves when all of them are in its service. */
export type StartRival = (engineUrls: readonly string[], deps: RivalDeps) => Promise<RunningRival>;

const host = '127.0.0.1';
/** Their wheels ask for less than their launchers import. */
const imported = ['setproctitle', 'fastapi', 'uvicorn', 'orjson', 'aiohttp', 'requests', 'psutil'];
const readinessTimeoutMs = 5_000;

const readinessSchema = z.looseObject({ healthy_workers: z.number() });

/** @throws SetupFault when it cannot be installed or started, or does not get all engines ready in time. */
export async function startRival(
  kind: RivalKind,
  engineUrls: readonly string[],
  deps: RivalDeps,
): Promise<RunningRival> {
  const { name, version, purpose, module, args = [] } = kind;
  const venv = await ensureVenv(
    deps.toolsDir,
    { name: `${name}-${version}`, installs: [['--no-deps', `${name}==${version}`], imported], purpose },
    deps.progress,
  );
  const port = await findFreePort(host);
  const metricsPort = await findFreePort(host);
  const running = await startProcess({
    name,
    // The scripts of a virtual environment that was moved into place name its old one.
    command: join(venv, 'bin', 'python'),
    args: ['-m', module, '--host', host, '--port', String(port), '--worker-urls', ...engineUrls].concat(
      ['--policy', deps.policy ?? 'cache_aware', '--log-level', 'error', ...args],
      ['--prometheus-host', host, '--prometheus-port', String(metricsPort)],
    ),
    environment: deps.environment,
    workDir: deps.workDir,
  });
  const url = `http://${host}:${port}`;
  try {
    await untilReady(running, async () => ((await healthyWorkers(url)) === engineUrls.length ? true : null));
  } catch (error) {
    await running.close();
    throw error;
  }
  return { name, version, url, process: running, close: async () => await running.close() };
}

/** Engines that it would send to; null: it does not answer yet. */
async function healthyWorkers(url: string): Promise<number | null> {
  try {
    const response = await fetch(`${url}/readiness`, { signal: AbortSignal.timeout(readinessTimeoutMs) });
    const readiness = readinessSchema.safeParse(await response.json());
    return readiness.success ? readiness.data.healthy_workers : null;
  } catch {
    return null;
  }
}
