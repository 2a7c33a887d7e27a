/**
 * `/api`: the run service over HTTP, for the page, the command line and whoever has a token. It parses,
 * asks the service and answers; what runs are and who may see them is decided there. The door of the
 * service has let a request in before it gets here.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import type { Logger } from 'pino';
import { z } from 'zod';
import { errorCodes } from '../../contracts/error-codes.ts';
import { handlePattern } from '../../contracts/run-names.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { RunService } from '../runs/run-service.ts';
import { apiAskerOf } from './api-caller.ts';
import { ApiFault, faultBody, maxBodyBytes, parseFault, toApiFault } from './api-fault.ts';
import type { ApiAnswer, ApiRoute } from './api-route.ts';
import { changeRoutes } from './change-routes.ts';
import { OpenCalls } from './open-calls.ts';
import { configRoute, type ServerConfiguration } from './config-route.ts';
import { EventStreams, type EventStreamOptions } from './event-stream.ts';
import { openApiDocument, openApiPath, type DocumentedStream } from './openapi.ts';
import { poolRoutes, type ServerFacts } from './pool-routes.ts';
import { guardChange } from './request-guard.ts';
import { runRoutes } from './run-routes.ts';

export interface ApiMeter {
  /** @param route as it is registered, never as it was asked for. */
  apiAnswered(route: string, status: number, seconds: number): void;
}

export interface RunApiDeps {
  readonly service: RunService;
  readonly logger: Logger;
  readonly facts: ServerFacts;
  /** null: it was started without a configuration file. */
  readonly configuration: ServerConfiguration | null;
  readonly meter: ApiMeter;
  /** Where requests that start runs are traced; null or absent: nowhere. */
  readonly telemetry?: Telemetry | null;
  readonly events?: EventStreamOptions | undefined;
}

export interface RunApi {
  /** Who listens to events now. */
  listeners(): number;
  /** Ends streams and waits; resolves when all that was asked is answered, or after two seconds. */
  drain(): Promise<void>;
}

const eventsQuery = z.strictObject({
  after: z
    .string()
    .max(100)
    .optional()
    .describe('As the header Last-Event-ID, for clients that cannot set one.'),
});

const eventStream: DocumentedStream = {
  path: '/api/events',
  operation: 'listenToEvents',
  summary: 'What happens to runs, approvals and the pool, as server-sent events',
  description:
    'Late by one to two seconds, and by more when thousands of runs are at work. A stream ends after 15 minutes, at a restart, and for a reader that does not keep up: come back with the id of the last event that you have seen. A browser\u2019s EventSource cannot send a token; read the stream with fetch then.',
  query: eventsQuery,
  refusals: ['invalid_request', 'unavailable'],
};

const allMethods: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

export function addRunApi(
  app: FastifyInstance,
  { service, logger, facts, configuration, meter, events, telemetry = null }: RunApiDeps,
): RunApi {
  const streams = new EventStreams(service, events);
  const calls = new OpenCalls();
  const routes = [
    ...runRoutes(service),
    ...changeRoutes(service, telemetry),
    ...poolRoutes(service, facts),
    configRoute(service, configuration),
  ];
  const document = openApiDocument(routes, eventStream, facts.version);
  app.register((scope, _, done) => {
    readJson(scope);
    answerFaults(scope, logger);
    tellOfAnswers(scope, logger, meter);
    for (const route of routes) serveRoute(scope, route, calls);
    scope.get(openApiPath, () => document);
    scope.get(eventStream.path, { exposeHeadRoute: false }, async (request, reply) => {
      await serveEvents(streams, request, reply);
    });
    const allowed = methodsByPath(routes);
    allowed.set(openApiPath, ['GET', 'HEAD']);
    allowed.set(eventStream.path, ['GET']);
    for (const [path, methods] of allowed) refuseOtherMethods(scope, path, methods);
    done();
  });
  return {
    listeners: () => streams.size,
    async drain() {
      streams.close();
      await calls.drain();
    },
  };
}

/** An empty body is none: what must be there is asked for by the schema of its route. */
function readJson(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string', bodyLimit: maxBodyBytes },
    (_, text, parsed) => {
      if (text.trim() === '') return parsed(null, undefined);
      try {
        return parsed(null, JSON.parse(text) as unknown);
      } catch (error) {
        const words = error instanceof Error ? error.message : String(error);
        return parsed(new ApiFault('invalid_json', `the body is not JSON: ${words}`));
      }
    },
  );
}

/** The run that a path names, for the log. */
function runOf(params: unknown): { readonly run?: string } {
  const { handle } = (params ?? {}) as { readonly handle?: unknown };
  return typeof handle === 'string' && handlePattern.test(handle) ? { run: handle } : {};
}

function answerFaults(scope: FastifyInstance, logger: Logger): void {
  scope.setErrorHandler(async (error, request, reply) => {
    const { method } = request;
    const route = request.routeOptions.url;
    const fault = toApiFault(error) ?? new ApiFault('internal', 'a fault in fermata; its log says more');
    const { status } = errorCodes[fault.code];
    const about = { method, route, ...runOf(request.params) };
    if (fault.code === 'internal') logger.error({ err: error, ...about }, 'fault of the run API');
    else logger.info({ ...about, status, code: fault.code, words: fault.message }, 'api call refused');
    await reply
      .code(status)
      .headers(fault.details.headers ?? {})
      .send(faultBody(fault));
  });
}

function tellOfAnswers(scope: FastifyInstance, logger: Logger, meter: ApiMeter): void {
  scope.addHook('onResponse', async (request, reply) => {
    const { method } = request;
    const { statusCode: status, elapsedTime: ms } = reply;
    const route = request.routeOptions.url ?? '';
    // A page asks all the time: only changes are worth a line each.
    logger[method === 'POST' ? 'info' : 'debug']({ method, route, status, ms: Math.round(ms) }, 'api call');
    meter.apiAnswered(`${method} ${route}`, status, ms / 1_000);
  });
}

function serveRoute(scope: FastifyInstance, route: ApiRoute, calls: OpenCalls): void {
  scope.route({
    method: route.method,
    url: fastifyPath(route.path),
    bodyLimit: maxBodyBytes,
    onRequest: async (request) => {
      if (route.method === 'POST') guardChange(request.headers, request.grant);
    },
    handler: async (request, reply) => {
      calls.add(reply.raw);
      const { status, headers = {}, body } = await callRoute(route, request, reply, calls.stopping);
      await reply
        .code(status)
        .headers({ 'cache-control': 'no-store', ...headers })
        .send(body);
    },
  });
}

async function callRoute(
  route: ApiRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  stopping: AbortSignal,
): Promise<ApiAnswer> {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  return await route.handle({
    params: route.params === null ? undefined : parsePart('path', route.params, request.params),
    query: parsePart('query', route.query ?? noQuery, request.query),
    body: route.body === null ? undefined : parsePart('body', route.body, request.body),
    headers: request.headers,
    asker: apiAskerOf(request.headers, request.grant),
    signal: gone.signal,
    stopping,
  });
}

const noQuery = z.strictObject({});

function parsePart<S extends z.ZodType>(where: string, schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw parseFault(where, parsed.error);
  return parsed.data;
}

async function serveEvents(
  streams: EventStreams,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { after } = parsePart('query', eventsQuery, request.query);
  const asker = apiAskerOf(request.headers, request.grant);
  const lastId = request.headers['last-event-id'];
  const seen = (typeof lastId === 'string' ? lastId.trim().slice(0, 100) : '') || (after ?? null);
  const begin = (): void => {
    reply.hijack();
  };
  await streams.open(reply.raw, begin, asker, seen);
}

function fastifyPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

function methodsByPath(routes: readonly ApiRoute[]): Map<string, string[]> {
  const methods = new Map<string, string[]>();
  for (const { path, method } of routes) {
    const known = methods.get(path) ?? [];
    methods.set(path, [...known, ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);
  }
  return methods;
}

/** Says which methods there are. No other site is let in: nothing is answered that a browser would ask for that. */
function refuseOtherMethods(scope: FastifyInstance, path: string, methods: readonly string[]): void {
  const allow = [...methods, 'OPTIONS'].join(', ');
  scope.route({
    method: 'OPTIONS',
    url: fastifyPath(path),
    handler: async (_, reply) => await reply.code(204).header('allow', allow).send(),
  });
  scope.route({
    method: allMethods.filter((method) => !methods.includes(String(method))),
    url: fastifyPath(path),
    // Before a body is read.
    onRequest: async (request) => {
      throw new ApiFault('method_not_allowed', `${path} has no ${request.method}; it has ${allow}`, {
        headers: { allow },
      });
    },
    handler: () => undefined,
  });
}
