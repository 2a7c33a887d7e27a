/** Paths of the simulated engine: reads the body, keeps the record, and calls what serves the path. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BadRequest, readChatRequest } from './chat-request.ts';
import { errorBody } from './chat-shapes.ts';
import { serveChat, type ChatParts } from './chat-turn.ts';
import { classify } from './classify.ts';
import { readFault } from './core/directives.ts';
import { loadOf } from './core/engine-state.ts';
import { describeEngine, metricsText, type Dialect } from './metrics-text.ts';
import { applyFault, refuse } from './refusals.ts';
import { keptBodyBytes, type RequestRecord } from './request-log.ts';

export type Availability = 'refused' | 'silent' | 'unhealthy';

export interface RouteParts {
  readonly chat: ChatParts;
  readonly dialect: Dialect;
  readonly kind: 'generative' | 'one-shot';
  readonly labels: readonly string[];
  /** Real milliseconds. */
  readonly classifyMs: number;
  readonly apiKey: string | null;
  readonly availability: 'up' | Availability;
}

const maxBodyBytes = 64 * 1024 * 1024;
const recordsShown = 200;

export function serveRequest(request: IncomingMessage, response: ServerResponse, parts: RouteParts): void {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  if (path.startsWith('/sim/')) void serveControl(path, request, response, parts.chat);
  else if (parts.availability === 'silent') request.resume();
  else if (parts.apiKey !== null && request.headers.authorization !== `Bearer ${parts.apiKey}`) {
    sendJson(response, 401, errorBody(401, 'Invalid API key.'));
  } else if (request.method === 'POST') void servePost(path, request, response, parts);
  else serveGet(path, request, response, parts);
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function serveGet(path: string, request: IncomingMessage, response: ServerResponse, parts: RouteParts): void {
  request.resume();
  const { driver, settings } = parts.chat;
  const { model } = settings;
  switch (path) {
    case '/health':
      if (parts.availability === 'unhealthy') sendJson(response, 503, errorBody(503, 'The engine is ill.'));
      else if (parts.dialect === 'llamacpp') sendJson(response, 200, { status: 'ok' });
      else response.writeHead(200).end();
      break;
    case '/v1/models':
      sendJson(response, 200, {
        object: 'list',
        data: [
          {
            id: model,
            object: 'model',
            created: 0,
            owned_by: parts.dialect,
            root: model,
            parent: null,
            max_model_len: driver.state.config.maxContextTokens,
          },
        ],
      });
      break;
    case '/metrics':
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
      response.end(metricsText(parts.dialect, driver.state, model));
      break;
    default: {
      const description = describeEngine(path, parts.dialect, driver.state, model);
      if (description === null) sendJson(response, 404, errorBody(404, `No such path: ${path}`));
      else sendJson(response, 200, description);
    }
  }
}

async function servePost(
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  parts: RouteParts,
): Promise<void> {
  const generative = parts.kind === 'generative';
  const known = generative
    ? path === '/v1/chat/completions'
    : path === '/classify' || path === '/v1/classify';
  if (!known) {
    request.resume();
    sendJson(response, 404, errorBody(404, `No such path: ${path}`));
    return;
  }
  const { log, settings } = parts.chat;
  const record = createRecord(request, path, log.view().counts.received + 1);
  log.add(record);
  try {
    const body = await readJson(request, record);
    if (generative) serveChat(readChatRequest(body), request, response, record, parts.chat);
    else await serveClassify(body, request, response, record, parts);
  } catch (error) {
    if (request.socket.destroyed) log.end(record, 'aborted');
    else if (error instanceof BadRequest) {
      refuse(response, record, log, error.status, error.message, null);
    } else {
      const message = error instanceof Error ? error.message : String(error);
      refuse(response, record, log, 500, `fault in the simulated engine ${settings.model}: ${message}`, null);
    }
  }
}

function createRecord(request: IncomingMessage, path: string, number: number): RequestRecord {
  const header = (...names: string[]): string | null =>
    names.map((name) => request.headers[name]).find((value) => typeof value === 'string') ?? null;
  return {
    number,
    method: request.method ?? 'GET',
    path,
    headers: request.headers,
    runId: header('x-fermata-run-id', 'x-luftpause-run-id'),
    turn: header('x-fermata-turn'),
    arrivedAtMs: Date.now(),
    body: null,
    bodyBytes: 0,
    phase: 'received',
    status: null,
    firstByteAtMs: null,
    abortedAtMs: null,
    endedAtMs: null,
    chunksSent: 0,
    promptTokens: null,
    cachedTokens: null,
    completionTokens: 0,
    finishReason: null,
  };
}

async function readJson(request: IncomingMessage, record: RequestRecord): Promise<unknown> {
  const parts: Buffer[] = [];
  for await (const part of request) {
    const bytes = part as Buffer;
    record.bodyBytes += bytes.length;
    if (record.bodyBytes > maxBodyBytes) throw new BadRequest(413, 'The body is larger than 64 MiB.');
    parts.push(bytes);
  }
  try {
    const body: unknown = JSON.parse(Buffer.concat(parts).toString('utf8'));
    if (record.bodyBytes <= keptBodyBytes) record.body = body;
    return body;
  } catch {
    throw new BadRequest(400, 'The body is not JSON.');
  }
}

async function serveClassify(
  body: unknown,
  request: IncomingMessage,
  response: ServerResponse,
  record: RequestRecord,
  { chat, labels, classifyMs }: RouteParts,
): Promise<void> {
  const { settings, log, faults } = chat;
  const fault = faults.choose(record, [], 0, '');
  const { model, response: reply } = classify(body, labels, settings.model, chat.uniqueId('classify-'));
  if (model !== null && model !== settings.model) {
    throw new BadRequest(404, `The model \`${model}\` does not exist.`);
  }
  if (fault !== null) {
    // There is no stream to cut: a cut is a connection that is dropped.
    applyFault(fault.kind === 'cut' ? { kind: 'drop' } : fault, request, response, record, log);
    return;
  }
  await new Promise((resolve) => {
    setTimeout(resolve, classifyMs);
  });
  if (response.destroyed) {
    log.end(record, 'aborted');
    return;
  }
  record.status = 200;
  record.firstByteAtMs = Date.now();
  log.end(record, 'finished');
  sendJson(response, 200, reply);
}

/** For tests in another process. */
async function serveControl(
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  { driver, log, faults }: ChatParts,
): Promise<void> {
  if (path === '/sim/state' && request.method === 'GET') {
    const { records, counts } = log.view();
    sendJson(response, 200, {
      counts,
      load: loadOf(driver.state),
      counters: driver.state.counters,
      requests: records.slice(-recordsShown),
    });
    return;
  }
  if (path !== '/sim/faults' || request.method !== 'POST') {
    sendJson(response, 404, errorBody(404, `No such path: ${path}`));
    return;
  }
  try {
    const body = (await readJson(request, createRecord(request, path, 0))) as Record<string, unknown> | null;
    const { times, runId } = body ?? {};
    faults.order(
      readFault(body?.['fault']),
      typeof times === 'number' ? times : 1,
      (record) => typeof runId !== 'string' || record.runId === runId,
    );
    sendJson(response, 200, { ordered: true });
  } catch (error) {
    sendJson(response, 400, errorBody(400, error instanceof Error ? error.message : String(error)));
  }
}
