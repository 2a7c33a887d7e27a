/**
 * The web page at `/`: files only, the same for everyone, so that no token is asked for them; all it shows
 * it reads from `/api`, with the token of whoever looks at it. It may load nothing from elsewhere, run no
 * script but its own, and be shown inside no other page.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { PageFault } from './kept-page.ts';
import type { PageFile, PageFiles } from './page-files.ts';

export type PageSource = () => Promise<PageFiles>;

/** Where the page's own files are; they tell nothing of runs. */
export const pageRoutes = { index: '/', asset: '/assets/:name' } as const;

const securityHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

/** After a failure it is not tried again for so long. */
const retryMs = 5_000;

export function addPage(app: FastifyInstance, source: PageSource, logger: Logger): void {
  const page = createPageReader(source, logger);
  app.get(pageRoutes.index, async (request, reply) => {
    const files = await page();
    if ('fault' in files) return await sendFault(reply, files.fault);
    return await sendFile(request, reply, files.index, 'no-cache');
  });
  app.get<{ Params: { name: string } }>(pageRoutes.asset, async (request, reply) => {
    const files = await page();
    if ('fault' in files) return await sendFault(reply, files.fault);
    const file = files.assets.get(request.params.name);
    if (file === undefined) return reply.callNotFound();
    return await sendFile(request, reply, file, 'public, max-age=31536000, immutable');
  });
}

type PageAnswer = PageFiles | { readonly fault: string };

/** Read once, when it is first asked for; one that failed is read again, but not at every request. */
function createPageReader(source: PageSource, logger: Logger): () => Promise<PageAnswer> {
  let reading: Promise<PageAnswer> | null = null;
  return async () => {
    reading ??= source().catch((error: unknown) => {
      logger.error({ err: error }, 'the web page cannot be shown');
      setTimeout(() => {
        reading = null;
      }, retryMs).unref();
      return { fault: error instanceof PageFault ? error.message : 'the web page cannot be read' };
    });
    return await reading;
  };
}

async function sendFault(reply: FastifyReply, fault: string): Promise<FastifyReply> {
  return await reply
    .code(503)
    .headers(securityHeaders)
    .type('text/plain; charset=utf-8')
    .send(`fermata: ${fault}\nMCP is at /mcp, the run API at /api.\n`);
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, etag, plain, gzipped }: PageFile,
  cacheControl: string,
): Promise<FastifyReply> {
  reply.headers({ ...securityHeaders, 'cache-control': cacheControl, vary: 'accept-encoding', etag });
  if (request.headers['if-none-match'] === etag) return await reply.code(304).send();
  reply.type(type);
  if (!/\bgzip\b/.test(request.headers['accept-encoding']?.toString() ?? '')) return await reply.send(plain);
  return await reply.header('content-encoding', 'gzip').send(gzipped);
}
