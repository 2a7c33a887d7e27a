/** A tiny engine for the scheduler's probes: health, models and a metrics text, all changeable. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeEngine {
  readonly url: string;
  healthy: boolean;
  models: readonly string[];
  metrics: string | null;
  /** Further paths and the JSON they answer with. */
  pages: Readonly<Record<string, unknown>>;
  /** Paths asked so far, with the bearer they carried. */
  readonly asked: { readonly path: string; readonly authorization: string | undefined }[];
  close(): Promise<void>;
}

export async function startFakeEngine(models: readonly string[] = ['m']): Promise<FakeEngine> {
  const server = createServer((request: IncomingMessage, response) => {
    const path = request.url ?? '';
    engine.asked.push({ path, authorization: request.headers.authorization });
    if (path === '/health') response.writeHead(engine.healthy ? 200 : 503).end();
    else if (path === '/v1/models') {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ object: 'list', data: engine.models.map((id) => ({ id })) }));
    } else if (path === '/metrics' && engine.metrics !== null) response.end(engine.metrics);
    else if (path in engine.pages) response.end(JSON.stringify(engine.pages[path]));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const engine: FakeEngine = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    healthy: true,
    models,
    metrics: null,
    pages: {},
    asked: [],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return engine;
}
