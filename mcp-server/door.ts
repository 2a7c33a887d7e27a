/**
 * The door of the service: `/mcp` and everything under `/api/` ask for a token; health, metrics and the
 * page's own files tell nothing of runs. It answers before anything of a body is read.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Access } from '../auth/access.ts';
import type { Admitted } from '../auth/grant.ts';
import { refusalReply } from '../auth/refusal.ts';
import { errorCodes } from '../contracts/error-codes.ts';
import { pageRoutes } from './page/add-page.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the token of the request allows; only where the door asks for one. */
    grant: Admitted;
  }
}

/** Everything else that is served asks for a token. */
const openRoutes: ReadonlySet<string> = new Set([
  ...Object.values(pageRoutes),
  '/metrics',
  '/healthz',
  '/readyz',
]);

/** Where MCP clients look for a way to log in when they are refused (RFC 8414, 9728, 7591). */
const loginPath = /^\/(mcp\/)?(\.well-known\/|register$|authorize$|token$)/;
/** Clients show it, some of them after hiding what follows `Authorization:`. */
const noLogin =
  'fermata has no OAuth; configure the client to send its token in the header Authorization, as Bearer TOKEN';

export function addDoor(app: FastifyInstance, access: Access, logger: Logger): void {
  app.decorateRequest('grant');
  app.addHook('onRequest', async (request, reply) => {
    if (!isGuarded(request)) return;
    const grant = access.authenticate(request.headers);
    if (grant.kind !== 'denied') {
      request.grant = grant;
      return;
    }
    const { method, ip } = request;
    logger.info({ method, path: pathOf(request), from: ip }, 'refused: no known token');
    const { status, headers, body } = refusalReply('unauthorized');
    await reply.code(status).headers(headers).send(body);
  });
  app.setNotFoundHandler((request, reply) => {
    reply.code(404);
    if (loginPath.test(pathOf(request))) return { error: 'not_found', error_description: noLogin };
    const { type } = errorCodes.not_found;
    const message = `no endpoint ${request.method} ${pathOf(request)}`;
    return { error: { message, type, code: 'not_found' } };
  });
}

/** By the route that was found, since an address can be written in many ways. */
function isGuarded(request: FastifyRequest): boolean {
  const route = request.routeOptions.url;
  return route === undefined ? pathOf(request).startsWith('/api/') : !openRoutes.has(route);
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?')[0] ?? '';
}
