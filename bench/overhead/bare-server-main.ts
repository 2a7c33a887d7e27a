/**
 * What a held request costs without fermata: the proxy's HTTP server and body reader, which keep body and
 * connection of each request and never answer. Set against the proxy with as many held turns.
 */
import Fastify from 'fastify';
import { readBody } from '../../proxy/request-body.ts';
import { bodyBytes } from './request-bodies.ts';

const held = new Set<object>();
const app = Fastify({ logger: false, http: { noDelay: true } });
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
app.post('/v1/chat/completions', (request, reply) => {
  reply.hijack();
  readBody(request.raw, bodyBytes).then(
    (body) => {
      const entry = { body, response: reply.raw };
      held.add(entry);
      reply.raw.once('close', () => held.delete(entry));
    },
    () => reply.raw.destroy(),
  );
});
app.get('/held', async () => ({ held: held.size }));
const url = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`bare server is ready at ${url}\n`);
process.once('SIGTERM', () => process.exit(0));
