/** A server whose endpoints are told in the manner of an engine; what it was asked is kept. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `fastapi`: a page, and 405 for the wrong method. `405`: no page. `httplib`: llama.cpp's server. */
export type Manner = 'fastapi' | '405' | 'httplib' | 'pages-only' | 'silent' | 'key-missing';

export interface ApiEngine {
  readonly url: string;
  /** Paths that take a POST. */
  paths: readonly string[];
  /** Of `httplib`: paths that are there and not served. */
  notStarted: readonly string[];
  manner: Manner;
  healthy: boolean;
  /** Further pages and the JSON they answer with. */
  pages: Readonly<Record<string, unknown>>;
  readonly asked: readonly { readonly method: string; readonly path: string; readonly body: string }[];
  askedFor(path: string): number;
  close(): Promise<void>;
}

export async function startApiEngine(manner: Manner, paths: readonly string[]): Promise<ApiEngine> {
  const asked: { method: string; path: string; body: string }[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { method = '', url: path = '' } = request;
      asked.push({ method, path, body });
      if (path === '/health') response.writeHead(engine.healthy ? 200 : 503).end();
      else if (path === '/v1/models') json(response, 200, { data: [{ id: 'm' }] });
      else if (['/metrics', '/props', '/get_server_info', '/server_info'].includes(path))
        json(response, 404, {});
      else if (path in engine.pages) json(response, 200, engine.pages[path]);
      else answer(engine, method, path, response);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const engine: ApiEngine = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths,
    notStarted: [],
    manner,
    healthy: true,
    pages: {},
    asked,
    askedFor: (path) => asked.filter((one) => one.path === path).length,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return engine;
}

function answer(engine: ApiEngine, method: string, path: string, response: ServerResponse): void {
  const there = engine.paths.includes(path);
  switch (engine.manner) {
    case 'silent':
      return;
    case 'key-missing':
      json(response, 401, {});
      return;
    case 'pages-only':
      json(response, 200, {});
      return;
    case 'httplib':
      if (method !== 'POST') json(response, 404, {});
      else if (engine.notStarted.includes(path)) json(response, 501, {});
      else json(response, there ? 400 : 404, {});
      return;
    case 'fastapi':
    case '405':
      if (path === '/openapi.json' && engine.manner === 'fastapi') {
        json(response, 200, { paths: Object.fromEntries(engine.paths.map((one) => [one, { post: {} }])) });
      } else if (there) json(response, method === 'POST' ? 422 : 405, {});
      else json(response, 404, {});
      return;
    default:
      engine.manner satisfies never;
  }
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request as AsyncIterable<Buffer>) body += chunk.toString('utf8');
  return body;
}
