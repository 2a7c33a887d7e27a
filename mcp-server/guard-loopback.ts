/**
 * On a loopback bind, only requests that name a loopback host and come from no foreign web page are
 * answered: a page cannot reach a server of this machine under a name of its own (DNS rebinding).
 */
import {
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import type { FastifyInstance } from 'fastify';
import { errorCodes } from '../contracts/error-codes.ts';

const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

/** @param host that the server binds to; others than loopback are not guarded. */
export function guardLoopback(app: FastifyInstance, host: string): void {
  if (!loopbackHosts.has(host)) return;
  app.addHook('onRequest', async ({ headers, url }, reply) => {
    const named = validateHostHeader(headers.host, localhostAllowedHostnames());
    const checked = named.ok ? validateOriginHeader(headers.origin, localhostAllowedOrigins()) : named;
    if (checked.ok) return;
    await reply.code(403).send(url.startsWith('/api/') ? apiBody(checked.message) : rpcBody(checked.message));
  });
}

function apiBody(message: string): object {
  return { error: { message, type: errorCodes.cross_site.type, code: 'cross_site' } };
}

function rpcBody(message: string): object {
  return { jsonrpc: '2.0', error: { code: -32_000, message }, id: null };
}
