/**
 * The simulated engine behind HTTP, in real time: chat completions with and without streaming, `/classify`,
 * `/v1/models`, `/health`, `/metrics` and the descriptive endpoints of the engine whose dialect it speaks.
 * What it says is scripted (core/script.ts) and can be directed from within a message (core/directives.ts).
 *
 * A test in the same process sees every request, waits for conditions without sleeping, orders faults, takes
 * the engine down, and holds streams to let them pass event by event. From another process: `GET
 * /sim/state`, `POST /sim/faults` with `{fault, times?, runId?}`.
 *
 * Not here: `/v1/messages`, `/v1/responses`, `/v1/embeddings`.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ChatParts } from './chat-turn.ts';
import type { EngineConfig } from './core/engine-config.ts';
import type { Fault } from './core/directives.ts';
import type { EngineState } from './core/engine-state.ts';
import { defaultScriptOptions, type ScriptOptions } from './core/script.ts';
import { createEngineDriver } from './engine-driver.ts';
import { createFaultPlan } from './fault-plan.ts';
import type { Dialect } from './metrics-text.ts';
import { createRequestLog, type RequestLog, type RequestRecord } from './request-log.ts';
import type { ReplyStream } from './reply-stream.ts';
import { serveRequest, type Availability } from './routes.ts';
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
  /** `one-shot`: serves `/classify` and no chat. Default `generative`. */
  readonly kind?: 'generative' | 'one-shot';
  /** What a one-shot engine tells apart. Default `positive`, `negative`. */
  readonly labels?: readonly string[];
  /** How long a classification takes, in milliseconds before `timeScale`. Default 20. */
  readonly classifyMs?: number;
  /** Real milliseconds for one of the engine's. Default 1; 0.1 is ten times faster, 0 without any delay. */
  readonly timeScale?: number;
  readonly engine?: Partial<EngineConfig>;
  readonly script?: Partial<ScriptOptions>;
  /** `short`: `call_0`, `call_1` in every reply, as some engines do. Default `unique`. */
  readonly callIds?: 'unique' | 'short';
  /** Send the head of a streamed response before its first token. Default false. */
  readonly earlyHeaders?: boolean;
  /** Default 503. */
  readonly queueFullStatus?: 429 | 503;
  /** Default true. */
  readonly reportCachedTokens?: boolean;
  /** Asked of every request as `Authorization: Bearer …`; default: nothing is asked. */
  readonly apiKey?: string;
  /** Requests remembered. Default 1,000. */
  readonly maxRecords?: number;
}

/** A stream that a test holds: the engine works, its bytes wait. */
export interface HeldStream {
  /** When the request has come in and was not refused or failed by a fault. */
  readonly arrived: Promise<RequestRecord>;
  /** Lets the next `count` events pass (default 1), as soon as the engine has them. */
  release(count?: number): void;
  releaseAll(): void;
  /** Closes the connection after what has passed. */
  cut(): void;
}

export interface SimEngine extends Pick<RequestLog, 'waitFor'> {
  readonly url: string;
  readonly port: number;
  readonly model: string;
  readonly state: EngineState;
  /** Chat and classify requests, oldest first. */
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

const maxHolds = 1_000;

interface Hold {
  readonly match: (record: RequestRecord) => boolean;
  readonly claim: (record: RequestRecord) => { onStream(stream: ReplyStream): void };
}

/** Starts an engine; resolves when it listens. */
export async function startSimEngine(options: SimEngineOptions = {}): Promise<SimEngine> {
  const model = options.model ?? 'sim-small';
  const host = options.host ?? '127.0.0.1';
  const timeScale = options.timeScale ?? 1;
  const driver = createEngineDriver(options.engine ?? {}, timeScale);
  const log = createRequestLog(options.maxRecords ?? 1_000);
  const faults = createFaultPlan();
  const holds: Hold[] = [];
  let availability: 'up' | Availability = 'up';
  const chat: ChatParts = {
    settings: {
      model,
      script: { ...defaultScriptOptions, ...options.script },
      callIds: options.callIds ?? 'unique',
      earlyHeaders: options.earlyHeaders ?? false,
      queueFullStatus: options.queueFullStatus ?? 503,
      reportCachedTokens: options.reportCachedTokens ?? true,
    },
    driver,
    log,
    faults,
    uniqueId: (prefix) => prefix + randomBytes(12).toString('hex'),
    claimHold: (record) => {
      const index = holds.findIndex(({ match }) => match(record));
      return index === -1 ? null : (holds.splice(index, 1)[0]?.claim(record) ?? null);
    },
  };
  const server = createEngineServer((request, response) => {
    serveRequest(request, response, {
      chat,
      dialect: options.dialect ?? 'vllm',
      kind: options.kind ?? 'generative',
      labels: options.labels ?? ['positive', 'negative'],
      classifyMs: (options.classifyMs ?? 20) * timeScale,
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
    holdNext: (match = () => true) => {
      if (holds.length >= maxHolds) throw new Error(`more than ${maxHolds} holds are open`);
      const { hold, held } = createHold(match);
      holds.push(hold);
      return held;
    },
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

function createHold(match: Hold['match']): { hold: Hold; held: HeldStream } {
  let stream: ReplyStream | null = null;
  let permits = 0;
  let cutting = false;
  let arrive: (record: RequestRecord) => void = () => undefined;
  const arrived = new Promise<RequestRecord>((resolve) => {
    arrive = resolve;
  });
  return {
    hold: {
      match,
      claim: (record) => ({
        onStream(opened) {
          stream = opened;
          if (permits > 0) opened.release(permits);
          if (cutting) opened.cut();
          arrive(record);
        },
      }),
    },
    held: {
      arrived,
      release(count = 1) {
        if (stream === null) permits += count;
        else stream.release(count);
      },
      releaseAll() {
        if (stream === null) permits = Number.POSITIVE_INFINITY;
        else stream.release(Number.POSITIVE_INFINITY);
      },
      cut() {
        if (stream === null) cutting = true;
        else stream.cut();
      },
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
