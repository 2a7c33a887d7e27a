/** The worker's small HTTP server: `/metrics`, `/healthz`, `/readyz`, which tell nothing of the runs, and what is added. */
import Fastify, { type FastifyInstance } from 'fastify';
import type { ConfigStatus } from '../contracts/config-status.ts';

export interface HealthServer {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

export interface HealthServerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** What a scrape is answered with. */
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  /** null: ready; else why not. */
  readonly notReady: () => Promise<string | null>;
  /** Absent: nothing is told of the configuration. */
  readonly configStatus?: (() => ConfigStatus) | undefined;
  /** Adds further routes. */
  readonly addRoutes?: (app: FastifyInstance) => void;
}

/** @throws Error when the port cannot be listened on. */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const app = Fastify({ forceCloseConnections: true });
  app.get('/healthz', () => ({ ok: true }));
  app.get('/readyz', async (_request, reply) => {
    const reason = await options.notReady();
    const readiness = reason === null ? { ready: true } : { ready: false, reason };
    return await reply
      .code(reason === null ? 200 : 503)
      .send({ ...readiness, ...shownConfig(options.configStatus) });
  });
  app.get(
    '/metrics',
    async (_request, reply) =>
      await reply.type(options.metrics.contentType).send(await options.metrics.text()),
  );
  options.addRoutes?.(app);
  const url = await app.listen({ host: options.host, port: options.port });
  return { url, port: Number(new URL(url).port), close: async () => await app.close() };
}

/** No door here asks for a token: what is wrong in the file is in the log. */
function shownConfig(configStatus: HealthServerOptions['configStatus']): object {
  if (configStatus === undefined) return {};
  const { loadedAt, fault } = configStatus();
  return { config: { loadedAt, faultSince: fault?.since ?? null } };
}
