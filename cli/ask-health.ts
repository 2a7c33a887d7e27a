/**
 * `health`, the check of a container: asks the service of this container whether it lives, or with `--ready`
 * whether it takes work. Small and quick, since it runs every few seconds beside the service.
 */
import { readFile } from 'node:fs/promises';
import { get } from 'node:http';
import { parseSettings, type Settings } from '../contracts/settings.ts';
import type { ServiceName } from './service-names.ts';
import { isServiceName } from './service-names.ts';

/** Shorter than the timeout of the checks in docker/. */
const answerLimitMs = 4_000;

const portOf: Readonly<Record<ServiceName, ((ports: Settings['ports']) => number) | null>> = {
  scheduler: (ports) => ports.scheduler,
  proxy: (ports) => ports.proxy,
  worker: (ports) => ports.worker,
  'mcp-server': (ports) => ports.mcp,
  // It says itself when it listens, and ends when it cannot.
  'simulated-pool': null,
};

/**
 * @param args `[service] [--ready]`; without a service, that of the container's first process.
 * @returns 0 when it is healthy, or is none of the services; 1 when it is not, said in one line.
 */
export async function askHealth(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly code: 0 | 1; readonly says: string }> {
  const path = args.includes('--ready') ? '/readyz' : '/healthz';
  const named = args.find((argument) => !argument.startsWith('--'));
  const service = named ?? (await serviceOfContainer());
  if (!isServiceName(service)) {
    return named === undefined
      ? { code: 0, says: 'no service runs here' }
      : { code: 1, says: `${named}: no such service` };
  }
  const settings = parseSettings(environment);
  const port = portOf[service]?.(settings.ports);
  if (port === undefined) return { code: 0, says: `${service} has no health of its own` };
  const host = ['0.0.0.0', '::'].includes(settings.host) ? '127.0.0.1' : settings.host;
  const { status, body } = await ask({ host, port, path });
  return { code: status === 200 ? 0 : 1, says: `${service} ${path}: ${status} ${body.slice(0, 500)}` };
}

async function ask(where: {
  readonly host: string;
  readonly port: number;
  readonly path: string;
}): Promise<{ readonly status: number; readonly body: string }> {
  return await new Promise((resolve) => {
    const fail = (error: Error): void => resolve({ status: 0, body: error.message });
    const request = get({ ...where, timeout: answerLimitMs }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', fail);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
      );
    });
    request.on('timeout', () => request.destroy(new Error(`no answer within ${answerLimitMs} ms`)));
    request.on('error', fail);
  });
}

/** What the container was started with: the argument after the entry point, as Linux tells it. */
async function serviceOfContainer(): Promise<string> {
  const line = await readFile('/proc/1/cmdline', 'utf8').catch(() => '');
  const words = line.split('\0');
  const entry = words.findIndex((word) => /\/service-main\.[jt]s$/.test(word));
  return entry < 0 ? '' : (words[entry + 1] ?? '');
}
