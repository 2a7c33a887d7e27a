/**
 * The scheduler's door: what it shows and the link that steers it are for the services and for admins.
 * Only its health and its metrics are open.
 */
import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Access } from '../../auth/access.ts';
import { errorCodes } from '../../contracts/error-codes.ts';
import { isForeignPage } from '../../auth/foreign-page.ts';
import { isAdmin } from '../../auth/grant.ts';
import { refusalReply, refusalWords, type RefusalCode, type RefusalReply } from '../../auth/refusal.ts';

const openRoutes: ReadonlySet<string> = new Set(['/metrics', '/healthz', '/readyz']);

export function addDoor(app: FastifyInstance, access: Access): void {
  app.addHook('onRequest', async (request, reply) => {
    const route = request.routeOptions.url;
    // What is no route tells nothing; those that are, are known by what was found, not by how it was written.
    if (route === undefined || openRoutes.has(route)) return;
    const refusal = refusalFor(access, request);
    if (refusal === null) return;
    const { status, headers, body } = refusalReply(refusal);
    await reply.code(status).headers(headers).send(body);
  });
}

type Asking = Pick<IncomingMessage, 'headers' | 'socket'>;

/** null: let in. */
function refusalFor(access: Access, { headers, socket }: Asking): RefusalCode | null {
  const grant = access.authenticate(headers);
  if (grant.kind === 'denied') return 'unauthorized';
  if (grant.kind === 'open' && isForeignPage(headers, socket.localAddress)) return 'cross_site';
  return isAdmin(grant) ? null : 'forbidden';
}

export interface LinkDoor {
  readonly access: Access;
  readonly logger: Logger;
  /** Why no proxy may link now, in words; null: it may. */
  readonly closedBecause: () => string | null;
}

/** Whether an upgrade request may become a link; it has been answered when not. */
export function mayUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  { access, logger, closedBecause }: LinkDoor,
): boolean {
  if (request.url?.split('?')[0] !== '/link') {
    socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
    return false;
  }
  const refusal = refusalFor(access, request);
  const closed = refusal === null ? closedBecause() : null;
  if (closed !== null) {
    answerUpgrade(socket, unavailableReply(closed));
    return false;
  }
  if (refusal === null) return true;
  const from = request.socket.remoteAddress;
  logger.warn({ from, refusal }, `a link was refused: ${refusalWords[refusal]}`);
  answerUpgrade(socket, refusalReply(refusal));
  return false;
}

function unavailableReply(message: string): RefusalReply {
  const { status, type } = errorCodes.unavailable;
  const body = JSON.stringify({ error: { message, type, code: 'unavailable' } });
  return { status, headers: { 'content-type': 'application/json' }, body };
}

/** Answers an upgrade request with something else than an upgrade. */
function answerUpgrade(socket: Duplex, { status, headers, body }: RefusalReply): void {
  const lines = Object.entries({
    ...headers,
    connection: 'close',
    'content-length': String(Buffer.byteLength(body)),
  });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.on('error', () => {});
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${head}\r\n${body}`);
}
