/**
 * What any gateway on Node must cost: the proxy's HTTP server and client, which read a request whole, send
 * it on and pass the reply back as it comes. No admission, no identity, nothing read of the reply.
 */
import Fastify from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { readBody } from '../../proxy/request-body.ts';

const engineUrl = process.argv[2] ?? '';
const maxBodyBytes = 1024 * 1024;
const agent = new Agent({ connections: null, pipelining: 1, connect: { noDelay: true } });

const app = Fastify({ logger: false, http: { noDelay: true } });
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
app.post('/v1/chat/completions', (request, reply) => {
  reply.hijack();
  pass(request.raw, reply.raw).catch(() => reply.raw.destroy());
});
const url = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`pass-through is ready at ${url}\n`);
process.once('SIGTERM', () => process.exit(0));

async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request, maxBodyBytes);
  await agent.stream(
    {
      origin: engineUrl,
      path: '/v1/chat/completions',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      opaque: response,
    },
    ({ statusCode, headers, opaque }) => {
      delete headers['transfer-encoding'];
      delete headers['connection'];
      return opaque.writeHead(statusCode, headers);
    },
  );
}
