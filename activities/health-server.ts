/** The worker's small HTTP server: `/metrics`, `/healthz`, `/readyz`. It serves nothing of the runs. */
import Fastify from 'fastify';
import type { Registry } from 'prom-client';

export interface HealthServer {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

export interface HealthServerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly registry: Registry;
  /** null: ready; else why not. */
  readonly notReady: () => Promise<string | null>;
}

/** @throws Error when the port cannot be listened on. */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const app = Fastify({ forceCloseConnections: true });
  app.get('/healthz', () => ({ ok: true }));
  app.get('/readyz', async (_request, reply) => {
    const reason = await options.notReady();
    return await reply
      .code(reason === null ? 200 : 503)
      .send(reason === null ? { ready: true } : { ready: false, reason });
  });
  app.get(
    '/metrics',
    async (_request, reply) =>
      await reply.type(options.registry.contentType).send(await options.registry.metrics()),
  );
  const url = await app.listen({ host: options.host, port: options.port });
  return { url, port: Number(new URL(url).port), close: async () => await app.close() };
}
