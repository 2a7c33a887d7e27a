/** Streams of events over real sockets, from a feed in the test\u2019s hand: slow readers, ends, keep-alives. */
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Caller } from '../../../contracts/ids.ts';
import { EventStreams, type EventStreamOptions } from '../../../mcp-server/api/event-stream.ts';
import type { FeedListener } from '../../../mcp-server/runs/run-feed.ts';
import { UserFault } from '../../../mcp-server/runs/user-fault.ts';
import { madeRun } from '../made-run.ts';

const asker = { caller: 'ann' as Caller, seesAll: false, classCeiling: null };
let server: Server;
let streams: EventStreams;
let listeners: FeedListener[];
let left: number;
let refusal: Error | null;

async function start(options: EventStreamOptions = {}): Promise<string> {
  streams = new EventStreams(
    {
      listen: async (listener) => {
        if (refusal !== null) throw refusal;
        listener.onReady({ id: 'feed-0', missed: false });
        listeners.push(listener);
        return await Promise.resolve(() => {
          left += 1;
        });
      },
    },
    options,
  );
  server = createServer((_, response) => {
    streams
      .open(response, () => undefined, asker, null)
      .catch((error: unknown) => {
        response.writeHead(503).end((error as Error).message);
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeEach(() => {
  listeners = [];
  left = 0;
  refusal = null;
});
afterEach(async () => {
  streams.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

let count = 0;
function happen(summary: string): void {
  count += 1;
  const run = madeRun('a', { summary });
  const event = { id: `feed-${count}`, at: '', change: { kind: 'run', change: 'phase', run } } as const;
  for (const listener of listeners) listener.onChange(event);
}

const bound = { timeout: 10_000, interval: 10 };

describe('a stream of events', () => {
  it('cuts off a reader that does not keep up, at a bound, and lets others go on', async () => {
    const url = await start({ maxWaitingBytes: 200_000 });
    const { port } = new URL(url);
    const slow = connect(Number(port), '127.0.0.1');
    slow.on('error', () => undefined);
    slow.pause();
    slow.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await vi.waitFor(() => expect(listeners).toHaveLength(1), bound);
    const stop = new AbortController();
    const quick = await fetch(url, { signal: stop.signal });
    let bytes = 0;
    const reading = (async () => {
      for await (const part of quick.body ?? []) bytes += part.byteLength;
    })().catch(() => undefined);
    await vi.waitFor(() => expect(listeners).toHaveLength(2), bound);
    // More than a socket holds by itself.
    let sent = 0;
    while (streams.size === 2 && sent < 100_000_000) {
      happen('x'.repeat(50_000));
      sent += 50_000;
      const upTo = sent;
      await vi.waitFor(() => expect(bytes).toBeGreaterThanOrEqual(upTo), bound);
    }
    expect(left).toBe(1);
    expect(streams.size).toBe(1);
    expect(sent).toBeLessThan(50_000_000);
    slow.destroy();
    stop.abort();
    await reading;
    await vi.waitFor(() => expect(streams.size).toBe(0), bound);
  });

  it('leaves the feed when its client goes', async () => {
    const url = await start();
    const stop = new AbortController();
    await fetch(url, { signal: stop.signal });
    expect(streams.size).toBe(1);
    stop.abort();
    await vi.waitFor(() => expect([streams.size, left]).toEqual([0, 1]), bound);
  });

  it('says that it is there while nothing happens, and ends when its time is over', async () => {
    const url = await start({ keepAliveMs: 20, lastsMs: 200 });
    const text = await (await fetch(url)).text();
    expect(text).toMatch(
      /^retry: 2000\n\nid: feed-0\nevent: ready\ndata: \{"missed":false\}\n\n(: here\n\n)+$/,
    );
    expect([streams.size, left]).toEqual([0, 1]);
  });

  it('ends for all when the server stops', async () => {
    const url = await start();
    const texts = [1, 2, 3].map(async () => await (await fetch(url)).text());
    await vi.waitFor(() => expect(streams.size).toBe(3), bound);
    streams.close();
    expect((await Promise.all(texts)).map((text) => text.includes('event: ready'))).toEqual([
      true,
      true,
      true,
    ]);
    expect([streams.size, left]).toEqual([0, 3]);
  });

  it('is none where there is no room: then nothing of a stream has been written', async () => {
    const url = await start();
    refusal = new UserFault('busy', 'no room');
    const reply = await fetch(url);
    expect([reply.status, await reply.text()]).toEqual([503, 'no room']);
    expect(streams.size).toBe(0);
  });

  it('keeps each event on lines of its own, whatever is in it', async () => {
    const url = await start();
    const stop = new AbortController();
    const reply = await fetch(url, { signal: stop.signal });
    let text = '';
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const part of reply.body ?? []) text += decoder.decode(part, { stream: true });
    })().catch(() => undefined);
    await vi.waitFor(() => expect(listeners).toHaveLength(1), bound);
    happen('two\nlines\r\n\r\nid: 9\u2028data: x \ud800');
    await vi.waitFor(() => expect(text).toContain('model turn'), bound);
    const [, , event] = text.split('\n\n');
    expect(event?.split('\n').map((line) => line.split(':')[0])).toEqual(['id', 'event', 'data']);
    stop.abort();
    await reading;
  });
});
