/** The engine's read-only paths: health, models, metrics, what it serves, and what its dialect tells. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Api } from '../../contracts/config-file.ts';
import { apiRoutes, apisOfKind } from './apis/table.ts';
import type { EngineState } from './core/engine-state.ts';
import { errorBody } from './error-body.ts';
import { describeEngine, metricsText, type Dialect } from './metrics-text.ts';

export interface GetParts {
  readonly model: string;
  readonly state: EngineState;
  readonly dialect: Dialect;
  readonly apis: readonly Api[];
  readonly openApi: boolean;
  readonly healthy: boolean;
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

export function notFound(response: ServerResponse, path: string): void {
  sendJson(response, 404, errorBody(path, 404, `No such path: ${path}`));
}

export function serveGet(
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  parts: GetParts,
): void {
  request.resume();
  const { dialect, state, model } = parts;
  switch (path) {
    case '/health':
      if (!parts.healthy) sendJson(response, 503, errorBody(path, 503, 'The engine is ill.'));
      else if (dialect === 'llamacpp') sendJson(response, 200, { status: 'ok' });
      else response.writeHead(200).end();
      break;
    case '/v1/models':
      sendJson(response, 200, { object: 'list', data: [modelEntry(parts)] });
      break;
    case '/metrics':
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
      response.end(metricsText(dialect, state, model));
      break;
    default:
      describe(path, response, parts);
  }
}

function modelEntry({ model, dialect, state }: GetParts): object {
  return {
    id: model,
    object: 'model',
    created: 0,
    owned_by: dialect,
    root: model,
    parent: null,
    max_model_len: state.config.maxContextTokens,
  };
}

function describe(path: string, response: ServerResponse, parts: GetParts): void {
  const { dialect, state, model, apis } = parts;
  // llama.cpp's server has no description of itself, and to it an unknown method is an unknown path.
  const describesItself = dialect !== 'llamacpp';
  const route = apiRoutes.get(path);
  if (path === '/openapi.json' && describesItself && parts.openApi) {
    sendJson(response, 200, openApiOf(apis));
  } else if (route !== undefined && apis.includes(route.api) && describesItself) {
    response.setHeader('allow', 'POST');
    sendJson(response, 405, { detail: 'Method Not Allowed' });
  } else {
    const generates = apis.some((api) => apisOfKind.generative.includes(api));
    const description = describeEngine(path, dialect, state, model, generates);
    if (description === null) notFound(response, path);
    else sendJson(response, 200, description);
  }
}

/** Only what the paths are is told, and no schema. */
function openApiOf(apis: readonly Api[]): object {
  const routes = [...apiRoutes].filter(([, { api }]) => apis.includes(api)).map(([path]) => [path, 'post']);
  const reads = ['/health', '/metrics', '/v1/models'].map((path) => [path, 'get']);
  return {
    openapi: '3.1.0',
    info: { title: 'simulated engine', version: '1' },
    paths: Object.fromEntries([...reads, ...routes].map(([path, method]) => [path, { [method ?? '']: {} }])),
  };
}
