/** Which request goes where; every refusal before a turn exists is worded here or by its thrower. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Access } from '../auth/access.ts';
import { metricsText } from '../telemetry/metrics-text.ts';
import { addAccessLog } from './access-log.ts';
import type { ApiDescriptor } from './apis/api-descriptor.ts';
import { chatCompletions } from './apis/chat-completions.ts';
import { completions } from './apis/completions.ts';
import { countTokensName, countTokensPath, createTokenCounter } from './apis/count-tokens.ts';
import { decide } from './apis/decide.ts';
import { embeddings } from './apis/embeddings.ts';
import { messages } from './apis/messages.ts';
import { rerankApis } from './apis/rerank.ts';
import { responses } from './apis/responses.ts';
import { score } from './apis/score.ts';
import { addDoor } from './door.ts';
import { Fault, faultReply, toFault } from './faults.ts';
import { listModels, modelsWithoutReplica } from './models-list.ts';
import type { ProxyContext } from './proxy-context.ts';
import { refusalFault } from './refusal-fault.ts';
import { addRunRoutes } from './run-routes.ts';
import { serveTurn } from './serve-turn.ts';
import type { Stop } from './stop-in-order.ts';

/** Endpoints whose requests are turns. */
const turnApis: readonly ApiDescriptor[] = [
  chatCompletions,
  completions,
  responses,
  messages,
  decide,
  embeddings,
  ...rerankApis,
  score,
];

/** Endpoints that tell of their requests themselves. */
const turnApiNames: ReadonlyMap<string, string> = new Map([
  ...turnApis.map((api) => [api.path, api.name] as const),
  [countTokensPath, countTokensName],
]);

/** A proxy that stops still says so, is alive, and lets runs be ended. */
const servedWhileDraining: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics', '/v1/runs/:id']);

/** How long a request for the pool waits for the scheduler to tell it. */
const poolWaitMs = 5_000;
const poolRetrySeconds = 1;

export function addRoutes(app: FastifyInstance, context: ProxyContext, access: Access, stop: Stop): void {
  // Bodies are read by the path that knows their bound; fastify hands over the stream.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
  const log = addAccessLog(app, context, turnApiNames);
  app.addHook('onRequest', async (request, reply) => {
    if (!stop.draining) return;
    if (servedWhileDraining.has(request.routeOptions.url ?? '')) return;
    reply.header('connection', 'close');
    throw refusalFault('draining', null);
  });
  addDoor(app, access);
  app.setErrorHandler((error, request, reply) => {
    if (!(error instanceof Fault))
      context.logger.error({ err: error, url: request.url.split('?')[0] }, 'fault');
    const fault = toFault(error);
    log.refused(request, reply, fault.message);
    send(reply, fault);
  });
  app.setNotFoundHandler((request) => {
    throw new Fault('not_found', `no endpoint ${request.method} ${request.url.split('?')[0]}`);
  });
  for (const api of turnApis) {
    app.post(api.path, (request, reply) => {
      reply.hijack();
      void serveTurn(context, api, request.grant, request.raw, reply.raw);
    });
  }
  const countTokens = createTokenCounter(context);
  app.post(countTokensPath, (request, reply) => {
    reply.hijack();
    void countTokens(request.grant, request.raw, reply.raw);
  });
  addRunRoutes(app, context);
  addStatusRoutes(app, context, stop);
}

function addStatusRoutes(app: FastifyInstance, context: ProxyContext, stop: Stop): void {
  app.get('/v1/models', async () => {
    if (await context.pool.whenKnown(poolWaitMs)) return listModels(context.pool.replicas);
    throw new Fault('overloaded', 'the scheduler cannot be reached; try again', poolRetrySeconds);
  });
  app.get('/metrics', async (_request, reply) => {
    const { registry } = context.metrics;
    reply.type(registry.contentType);
    return await metricsText(registry, context.telemetry);
  });
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const { replicas } = context.pool;
    const healthy = replicas.filter((replica) => replica.healthy).length;
    const ready = !stop.draining && context.link.connected && healthy > 0;
    reply.code(ready ? 200 : 503);
    return {
      ready,
      draining: stop.draining,
      dependencies: {
        scheduler: { url: context.link.url, linked: context.link.connected },
        // Away, each proxy counts alone: no reason to take it out of service.
        ...(context.limiter.redis === null ? {} : { redis: redisState(context.limiter.redis) }),
        replicas: { healthy, of: replicas.length, modelsWithout: modelsWithoutReplica(replicas) },
      },
    };
  });
}

function redisState({ address, up }: { address: string; up: boolean }): object {
  return { address, up, countedBy: up ? 'redis' : 'this proxy' };
}

function send(reply: FastifyReply, fault: Fault): void {
  const { status, headers, body } = faultReply(fault, reply.request.url);
  reply.code(status).headers(headers).send(body);
}
