/**
 * The simulated engine behind HTTP, in real time: the APIs of apis/table.ts, `/v1/models`, `/health`,
 * `/metrics`, `/openapi.json` and the descriptive endpoints of the engine whose dialect it speaks. What it
 * says is scripted (core/script.ts) and can be directed from within a message (core/directives.ts),
 * whichever API the message came by; every API is computed by the same engine (core/advance.ts), so they
 * share its places, its queue and its prefix cache.
 *
 * A test in the same process sees every request, waits for conditions without sleeping, orders faults, takes
 * the engine down, and holds streams to let them pass event by event. From another process: `GET
 * /sim/state`, `POST /sim/faults` with `{fault, times?, runId?}`.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Api } from '../../contracts/config-file.ts';
import { createResponseStore } from './apis/response-store.ts';
import { apisOfKind } from './apis/table.ts';
import type { EngineConfig } from './core/engine-config.ts';
import type { Fault } from './core/directives.ts';
import type { EngineState } from './core/engine-state.ts';
import { defaultScriptOptions, type ScriptOptions } from './core/script.ts';
import { createEngineDriver } from './engine-driver.ts';
import { createFaultPlan } from './fault-plan.ts';
import { createHolds, type HeldStream } from './holds.ts';
import type { Dialect } from './metrics-text.ts';
import { createRequestLog, type RequestLog, type RequestRecord } from './request-log.ts';
import { serveRequest, type Availability } from './routes.ts';
import type { TurnParts } from './serve-turn.ts';
import { listen, listenAgain } from '../listen.ts';

export interface SimEngineOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free one. */
  readonly port?: number;
  /** Default `sim-small`. */
  readonly model?: string;
  /** Default `vllm`. */
  readonly dialect?: Dialect;
  /** What it serves unless `apis` says so, and how long its steps take. Default `generative`. */
  readonly kind?: 'generative' | 'one-shot';
  /** Requests of other APIs are answered with 404. Default: those of its kind, see apis/table.ts. */
  readonly apis?: readonly Api[];
  /** Tell of its paths at `/openapi.json`, as vLLM and SGLang do; llama.cpp never does. Default true. */
  readonly openApi?: boolean;
  /** What a one-shot engine tells apart. Default `positive`, `negative`. */
  readonly labels?: readonly string[];
  /** How long a step of a one-shot engine takes, in milliseconds before `timeScale`. Default 20. */
  readonly classifyMs?: number;
  /** Real milliseconds for one of the engine's. Default 1; 0.1 is ten times faster, 0 without any delay. */
  readonly timeScale?: number;
  readonly engine?: Partial<EngineConfig>;
  readonly script?: Partial<ScriptOptions>;
  /** `short`: `call_0`, `call_1` in every reply, as some engines do. Default `unique`. */
  readonly callIds?: 'unique' | 'short';
  /**
   * Send the head of a streamed response before its first token, and over `/v1/responses` the events that
   * open it, as vLLM does. Default false.
   */
  readonly earlyHeaders?: boolean;
  /** Default 503. */
  readonly queueFullStatus?: 429 | 503;
  /** Default true. */
  readonly reportCachedTokens?: boolean;
  /** Whether its model takes images; a text model refuses them as vLLM does. Default true. */
  readonly images?: boolean;
  /** Asked of every request as `Authorization: Bearer …`; default: nothing is asked. */
  readonly apiKey?: string;
  /** Requests remembered. Default 1,000. */
  readonly maxRecords?: number;
}

export interface SimEngine extends Pick<RequestLog, 'waitFor'> {
  readonly url: string;
  readonly port: number;
  readonly model: string;
  readonly state: EngineState;
  /** Requests of its APIs, oldest first. */
  requests(): readonly RequestRecord[];
  counts(): ReturnType<RequestLog['view']>['counts'];
  /** The next request for which `match` holds (default: any) is held. */
  holdNext(match?: (record: RequestRecord) => boolean): HeldStream;
  /** The next `times` (default 1) requests for which `match` holds fail. */
  failNext(fault: Fault, options?: { times?: number; match?: (record: RequestRecord) => boolean }): void;
  clearFaults(): void;
  /**
   * `refused`: nobody listens, all connections are closed. `silent`: requests are taken and never answered.
   * `unhealthy`: only `/health` fails (503). `up`: back on the same port.
   */
  setAvailability(availability: 'up' | Availability): Promise<void>;
  close(): Promise<void>;
}

const maxResponses = 1_000;

/** Starts an engine; resolves when it listens. */
export async function startSimEngine(options: SimEngineOptions = {}): Promise<SimEngine> {
  const model = options.model ?? 'sim-small';
  const host = options.host ?? '127.0.0.1';
  const timeScale = options.timeScale ?? 1;
  const kind = options.kind ?? 'generative';
  const stepMs = kind === 'one-shot' ? { decodeBaseMs: options.classifyMs ?? 20 } : {};
  const driver = createEngineDriver({ ...stepMs, ...options.engine }, timeScale);
  const log = createRequestLog(options.maxRecords ?? 1_000);
  const faults = createFaultPlan();
  const holds = createHolds();
  let availability: 'up' | Availability = 'up';
  const turn = turnParts(options, model, { driver, log, faults, claimHold: holds.claim });
  const server = createEngineServer((request, response) => {
    serveRequest(request, response, {
      turn,
      dialect: options.dialect ?? 'vllm',
      apis: options.apis ?? apisOfKind[kind],
      openApi: options.openApi ?? true,
      apiKey: options.apiKey ?? null,
      availability,
    });
  });
  const port = await listen(server, host, options.port ?? 0);
  return {
    url: `http://${host}:${port}`,
    port,
    model,
    state: driver.state,
    requests: () => log.view().records,
    counts: () => ({ ...log.view().counts }),
    waitFor: log.waitFor,
    holdNext: holds.holdNext,
    failNext: (fault, { times = 1, match = () => true } = {}) => {
      faults.order(fault, times, match);
    },
    clearFaults: faults.clear,
    async setAvailability(next) {
      const before = availability;
      availability = next;
      if (next === 'refused' && before !== 'refused') await closeServer(server);
      if (next !== 'refused' && before === 'refused') await listenAgain(server, host, port);
    },
    async close() {
      await closeServer(server);
      driver.close();
      log.close();
    },
  };
}

function turnParts(
  options: SimEngineOptions,
  model: string,
  parts: Pick<TurnParts, 'driver' | 'log' | 'faults' | 'claimHold'>,
): TurnParts {
  return {
    ...parts,
    context: {
      model,
      labels: options.labels ?? ['positive', 'negative'],
      script: { ...defaultScriptOptions, ...options.script },
      callIds: options.callIds ?? 'unique',
      reportCachedTokens: options.reportCachedTokens ?? true,
      images: options.images ?? true,
      responses: createResponseStore(maxResponses),
      uniqueId: (prefix) => prefix + randomBytes(12).toString('hex'),
    },
    settings: {
      earlyHeaders: options.earlyHeaders ?? false,
      queueFullStatus: options.queueFullStatus ?? 503,
    },
  };
}

function createEngineServer(onRequest: (request: IncomingMessage, response: ServerResponse) => void): Server {
  const server = createServer(
    { noDelay: true, keepAliveTimeout: 65_000, maxHeaderSize: 128 * 1024, requestTimeout: 60_000 },
    onRequest,
  );
  server.on('clientError', (_error: Error, socket: Socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
  });
  return server;
}

async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  await new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}
