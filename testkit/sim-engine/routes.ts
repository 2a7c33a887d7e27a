/** Requests of the simulated engine: checks the key, reads the body, keeps the record, calls the API's reader. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Api } from '../../contracts/config-file.ts';
import { BadRequest } from './apis/api.ts';
import { countTokens } from './apis/messages-request.ts';
import { apiRoutes, type ApiRoute } from './apis/table.ts';
import { readFault } from './core/directives.ts';
import { loadOf } from './core/engine-state.ts';
import { errorBody } from './error-body.ts';
import type { Dialect } from './metrics-text.ts';
import { refuse } from './refusals.ts';
import { keptBodyBytes, type RequestRecord } from './request-log.ts';
import { notFound, sendJson, serveGet } from './serve-get.ts';
import { checkModel, serveTurn, type TurnParts } from './serve-turn.ts';

export type Availability = 'refused' | 'silent' | 'unhealthy';

export interface RouteParts {
  readonly turn: TurnParts;
  readonly dialect: Dialect;
  /** Requests of others are answered with 404. */
  readonly apis: readonly Api[];
  readonly openApi: boolean;
  readonly apiKey: string | null;
  readonly availability: 'up' | Availability;
}

const maxBodyBytes = 64 * 1024 * 1024;
const recordsShown = 200;
/** What llama.cpp's server has paths for and serves only when it was started so. */
const startedFor: readonly Api[] = ['embeddings', 'rerank'];

export function serveRequest(request: IncomingMessage, response: ServerResponse, parts: RouteParts): void {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  if (path.startsWith('/sim/')) void serveControl(path, request, response, parts.turn);
  else if (parts.availability === 'silent') request.resume();
  else if (!hasKey(request, parts.apiKey)) {
    request.resume();
    sendJson(response, 401, errorBody(path, 401, 'Invalid API key.'));
  } else if (request.method === 'POST') void servePost(path, request, response, parts);
  else {
    serveGet(path, request, response, {
      ...parts,
      model: parts.turn.context.model,
      state: parts.turn.driver.state,
      healthy: parts.availability !== 'unhealthy',
    });
  }
}

/** Anthropic's clients send theirs in a header of their own. */
function hasKey({ headers }: IncomingMessage, apiKey: string | null): boolean {
  return apiKey === null || headers.authorization === `Bearer ${apiKey}` || headers['x-api-key'] === apiKey;
}

async function servePost(
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  { turn, apis, dialect }: RouteParts,
): Promise<void> {
  const route = apiRoutes.get(path);
  if (route === undefined || !apis.includes(route.api)) {
    request.resume();
    if (route !== undefined && dialect === 'llamacpp' && startedFor.includes(route.api)) {
      sendJson(response, 501, errorBody(path, 501, `This server was not started for ${route.api}.`));
    } else notFound(response, path);
    return;
  }
  const { log, context } = turn;
  const record = createRecord(request, path, log.view().counts.received + 1);
  log.add(record);
  try {
    serveApi(await readJson(request, record), route, request, response, record, turn);
  } catch (error) {
    if (request.socket.destroyed) log.end(record, 'aborted');
    else if (error instanceof BadRequest) {
      refuse(response, record, log, error.status, error.message, null);
    } else {
      const message = error instanceof Error ? error.message : String(error);
      refuse(response, record, log, 500, `fault in the simulated engine ${context.model}: ${message}`, null);
    }
  }
}

function serveApi(
  body: unknown,
  { read }: ApiRoute,
  request: IncomingMessage,
  response: ServerResponse,
  record: RequestRecord,
  parts: TurnParts,
): void {
  if (read !== null) {
    serveTurn(read(body, parts.context), request, response, record, parts);
    return;
  }
  const { model, reply } = countTokens(body);
  checkModel(model, parts.context);
  record.status = 200;
  parts.log.end(record, 'finished');
  sendJson(response, 200, reply);
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

/** For tests in another process. */
async function serveControl(
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  { driver, log, faults }: TurnParts,
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
    notFound(response, path);
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
    sendJson(response, 400, errorBody(path, 400, error instanceof Error ? error.message : String(error)));
  }
}
