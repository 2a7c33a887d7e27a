/**
 * The proxy's door: every endpoint asks for a token but those that tell nothing about runs or models. It
 * answers before anything of the body is read.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Access } from '../auth/access.ts';
import type { Admitted } from '../auth/grant.ts';
import { isForeignPage } from '../auth/foreign-page.ts';
import { challenge, refusalWords } from '../auth/refusal.ts';
import { Fault } from './faults.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the token of the request allows; only where the door asks for one. */
    grant: Admitted;
  }
}

const openRoutes: ReadonlySet<string> = new Set(['/metrics', '/healthz', '/readyz']);

export function addDoor(app: FastifyInstance, access: Access): void {
  app.decorateRequest('grant');
  app.addHook('onRequest', async (request, reply) => {
    if (!isGuarded(request)) return;
    const grant = access.authenticate(request.headers, true);
    if (grant.kind === 'open' && isForeignPage(request.headers, request.socket.localAddress)) {
      throw new Fault('cross_site', refusalWords.cross_site);
    }
    if (grant.kind !== 'denied') {
      request.grant = grant;
      return;
    }
    reply.headers(challenge);
    throw new Fault('unauthorized', refusalWords.unauthorized);
  });
}

/** By the route that was found, since an address can be written in many ways. */
function isGuarded(request: FastifyRequest): boolean {
  const route = request.routeOptions.url;
  return route === undefined ? request.url.startsWith('/v1/') : !openRoutes.has(route);
}
