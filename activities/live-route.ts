/**
 * `GET /live/{run}` of the worker's HTTP server, for the mcp-server: what the run's model writes now. It
 * answers whoever has the services' token; without one, only requests that name this machine by address,
 * so that no web page reaches it under a name of its own (DNS rebinding).
 */
import { timingSafeEqual, createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { LiveTurns } from './live-turns.ts';

const longestWaitMs = 20_000;

const paramsSchema = z.object({ run: z.string().min(1).max(128) });
const querySchema = z.object({
  turn: z.coerce.number().int().min(0).optional(),
  offset: z.coerce.number().int().min(0).default(0),
  waitMs: z.coerce.number().int().min(0).max(longestWaitMs).default(0),
});

/** @param token what the services send to each other; null: nothing. */
export function addLiveRoute(app: FastifyInstance, turns: LiveTurns, token: string | null): void {
  app.get('/live/:run', async (request, reply) => {
    if (!mayAsk(request, token)) return await reply.code(401).send({ error: 'unauthorized' });
    const params = paramsSchema.safeParse(request.params);
    const query = querySchema.safeParse(request.query);
    if (!params.success || !query.success) return await reply.code(400).send({ error: 'invalid_request' });
    const { turn, offset, waitMs } = query.data;
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const known = turn === undefined ? null : { turn, offset };
    const live = await turns.read(params.data.run, known, waitMs, gone.signal);
    return await reply.header('cache-control', 'no-store').send({ live });
  });
}

function mayAsk({ headers }: FastifyRequest, token: string | null): boolean {
  if (token !== null) return sameText(headers.authorization ?? '', `Bearer ${token}`);
  const name = (headers.host ?? '').replace(/:\d+$/, '').replaceAll(/^\[|\]$/g, '');
  return name === 'localhost' || isIP(name) !== 0;
}

/** In a time that tells nothing of where they differ. */
function sameText(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
