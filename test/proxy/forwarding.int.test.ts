/** What reaches the engine and what reaches the client, byte for byte, over real sockets. */
import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { caseFile, expectOf } from '../case-file.ts';
import { generateStream } from './reply/generated-streams.ts';
import {
  chat,
  chatBody,
  chatPath,
  chunk,
  closeAfterTest,
  post,
  replica,
  sse,
  startStack,
  until,
} from './stack.ts';
import { streamCases } from './stream-cases.ts';

/** A server that answers every connection with the same raw bytes. */
async function startRawEngine(
  reply: Buffer,
  close: boolean,
): Promise<{ url: string; requests: () => string }> {
  const sockets = new Set<Socket>();
  let received = '';
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (data) => {
      received += data.toString('latin1');
      socket.write(reply);
      if (close) socket.end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closeAfterTest(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, requests: () => received };
}

const s14 = caseFile('S14');
const s14Given = z
  .object({
    client_request_headers: z.record(z.string(), z.string()),
    upstream_response_headers: z.record(z.string(), z.string()),
  })
  .parse(s14.given);
const s14Expect = z
  .object({
    not_forwarded_to_upstream: z.array(z.string()),
    client_key_not_forwarded_unless_configured: z.array(z.string()),
  })
  .loose()
  .parse(s14.expect);

describe(`${s14.id} ${s14.title}`, () => {
  it('has the client\u2019s bytes, its unknown fields and headers, and no framing, hop or key of the client', async () => {
    const { proxy, engine } = await startStack({
      environment: { POOL_KEY: 'own-key' },
      pool: ([only]) => [replica('engine-0', `${only?.url}/base`, { apiKeyEnv: 'POOL_KEY' })],
    });
    const body = '{ "model":"m-test", "messages":[], "seed": 12345678901234567890, "unknown": {"a":[1.0]} }';
    const client = post(proxy, `${chatPath}?x=1`, body, {
      ...s14Given.client_request_headers,
      'x-fermata-run-id': 'r',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'x-unknown': 'stays',
    });
    const call = await engine.next();
    call.json(200, {});
    await client.head;
    expect(call.body.toString('utf8')).toBe(body);
    expect(call.url).toBe(`/base${chatPath}?x=1`);
    expect(call.headers['content-length']).toBe(String(body.length));
    expect(call.headers.authorization).toBe('Bearer own-key');
    expect(call.headers['traceparent']).toBe('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
    expect(call.headers['x-unknown']).toBe('stays');
    // Our own connection to the engine has a `connection` header of its own.
    const unwanted = s14Expect.not_forwarded_to_upstream.flatMap((words) => words.split(' ')[0] ?? []);
    expect([...unwanted, 'x-fermata-run-id'].filter((name) => name in call.headers)).toEqual(['connection']);
    expect(call.headers.connection).not.toContain('x-hop');
  });

  it('is the client\u2019s to the byte when it asked for usage itself, and the usage chunk is then its own', async () => {
    const { proxy, engine } = await startStack();
    const body = chatBody({ stream: true, stream_options: { include_usage: true } });
    const client = post(proxy, chatPath, body);
    const call = await engine.next();
    const reply = sse(
      chunk({ content: 'x' }),
      chunk({}, 'stop'),
      { choices: [], usage: { prompt_tokens: 1 } },
      '[DONE]',
    );
    call.head(200);
    call.write(reply);
    call.end();
    await until(() => client.ended() !== null, 'the reply has ended');
    expect(call.body.toString('utf8')).toBe(body);
    expect(client.text()).toBe(reply);
  });
});

describe(`${s14.id} ${s14.title}`, () => {
  it('never has both a length and chunks, even from an engine that sends both', async () => {
    const body = sse(chunk({ content: 'x' }, 'stop'), '[DONE]');
    const head = Object.entries(s14Given.upstream_response_headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
    const raw = Buffer.from(
      `HTTP/1.1 200 OK\r\n${head}\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    );
    const engine = await startRawEngine(raw, true);
    const { proxy } = await startStack({ pool: () => [replica('engine-0', engine.url)] });
    const reply = await chat(proxy, { stream: true });
    const both = 'content-length' in reply.headers && 'transfer-encoding' in reply.headers;
    expect(both).toBe(false);
    // Such an engine is either read by its chunks or refused whole: never half.
    expect([`200 ${body}`, '502']).toContain(
      reply.status === 200 ? `200 ${reply.text}` : String(reply.status),
    );
  });

  it('keeps unknown headers and repeated ones', async () => {
    const { proxy, engine } = await startStack();
    engine.answer((call) => {
      call.response.writeHead(
        200,
        [
          ['content-type', 'application/json'],
          ['set-cookie', 'a=1'],
          ['set-cookie', 'b=2'],
          ['x-odd', 'caf\u00e9'],
        ].flat(),
      );
      call.response.end('{}');
    });
    const reply = await chat(proxy);
    expect(reply.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(reply.headers['x-odd']).toBe('caf\u00e9');
  });

  const s13 = caseFile('S13');

  describe(`${s13.id} ${s13.title}`, () => {
    const { variants } = z
      .object({
        variants: z.record(
          z.string(),
          z.object({
            status: z.number(),
            headers: z.record(z.string(), z.string()),
            body_base64: z.string(),
          }),
        ),
      })
      .parse(s13.given);

    it.each(Object.entries(variants))(
      '%s: stays packed, with the headers that say so',
      async (name, given) => {
        const wanted = z.object({ status: z.number(), decoded_utf8: z.string() }).parse(expectOf(s13, name));
        const packed = Buffer.from(given.body_base64, 'base64');
        const { proxy, engine, scheduler } = await startStack();
        engine.answer((call) => {
          expect(call.headers['accept-encoding']).toBe('identity');
          call.head(given.status, { ...given.headers, 'content-length': String(packed.length) });
          call.write(packed);
          call.end();
        });
        const client = post(proxy, chatPath, chatBody({ stream: true }));
        const head = await client.head;
        await until(() => client.ended() !== null, 'the reply has ended');
        expect(head.statusCode).toBe(wanted.status);
        expect(head.headers['content-encoding']).toBe('gzip');
        expect(head.headers['content-length']).toBe(String(packed.length));
        expect(gunzipSync(Buffer.concat(client.chunks)).toString('utf8')).toBe(wanted.decoded_utf8);
        await until(() => scheduler.places() === 0, 'the place is free');
      },
    );
  });
});

describe('a streamed reply through the proxy equals the engine\u2019s, over real sockets', () => {
  const recorded = streamCases()
    .filter(
      ({ name }) =>
        !name.startsWith('S05') &&
        !['S04 b_only_comments', 'S12 a_reset_in_args', 'S12 b_clean_end'].includes(name),
    )
    .map(({ name, writes }) => ({ name, bytes: Buffer.concat(writes), seen: Buffer.concat(writes) }));
  const generated = Array.from({ length: 24 }, (_, seed) => generateStream(1_000 + seed)).filter(
    ({ bytes }) => bytes.includes('"stop"') || bytes.includes('[DONE]'),
  );

  it.each([...recorded, ...generated])('$name', async ({ bytes, seen }) => {
    const { proxy, engine } = await startStack();
    const client = post(proxy, chatPath, chatBody({ stream: true }));
    const call = await engine.next();
    call.head(200);
    // Small writes, each flushed alone, so that reads end inside events and characters.
    for (let at = 0; at < bytes.length; at += 37) {
      call.write(bytes.subarray(at, at + 37));
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    call.end();
    await until(() => client.ended() !== null, 'the reply has ended');
    expect(client.text()).toBe(seen.toString('utf8'));
    expect(client.ended()).toBe('whole');
  });
});
