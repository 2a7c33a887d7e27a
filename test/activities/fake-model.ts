/**
 * A chat completions endpoint that says exactly what a test tells it to: each request waits for its
 * script. Also counts the ends of runs (`DELETE /v1/runs/{id}`), as the proxy would get them.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeCall {
  readonly id?: string;
  readonly name: string;
  /** Text as it stands, or a value that is written as JSON. */
  readonly arguments: unknown;
}

export interface FakeRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: {
    readonly model: string;
    readonly messages: readonly Readonly<Record<string, unknown>>[];
    readonly tools?: readonly unknown[];
    readonly max_tokens?: number;
  };
  /** Resolves when the client has gone. */
  readonly clientLeft: Promise<void>;
  json(status: number, body: unknown, headers?: Record<string, string>): void;
  /** Sends the head of a stream and `writes`, in order. */
  write(...writes: (string | Uint8Array)[]): void;
  end(): void;
  /** Closes the socket in the middle. */
  reset(): void;
  say(text: string, finishReason?: string): void;
  call(calls: readonly FakeCall[], finishReason?: string): void;
}

export type Script = (request: FakeRequest, index: number) => void | Promise<void>;

export interface FakeModel {
  readonly url: string;
  readonly requests: readonly FakeRequest[];
  readonly endedRuns: readonly string[];
  /** False: whoever tells of the end of a run gets no answer. */
  hearEnds(hears: boolean): void;
  /** Replaces what answers the requests from now on. */
  script(script: Script): void;
  /** Resolves once `count` requests in all have come. */
  waitForRequests(count: number): Promise<void>;
  waitForEnd(runId: string): Promise<void>;
  close(): Promise<void>;
}

/** One SSE event of a chat completion. */
export function chunk(delta: unknown, finishReason: string | null = null, more: object = {}): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'fake', choices, ...more })}\n\n`;
}

export const usageChunk = `data: ${JSON.stringify({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [],
  usage: { prompt_tokens: 100, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 60 } },
})}\n\n`;
export const doneEvent = 'data: [DONE]\n\n';

/** @param models what `/v1/models` lists; default: one model, of which nothing more is said. */
export async function startFakeModel(
  first: Script,
  models: () => readonly unknown[] = () => [{ id: 'fake', object: 'model' }],
): Promise<FakeModel> {
  let current = first;
  const requests: FakeRequest[] = [];
  const endedRuns: string[] = [];
  let deaf = false;
  const waiters = new Set<() => void>();
  const changed = (): void => waiters.forEach((check) => check());
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    if (request.method === 'DELETE') {
      if (deaf) return void response.destroy();
      endedRuns.push(decodeURIComponent(url.split('/').at(-1) ?? ''));
      response.writeHead(204).end();
      changed();
      return;
    }
    if (url === '/healthz') return void response.writeHead(200).end();
    if (url === '/v1/models') {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ object: 'list', data: models() }));
      return;
    }
    let text = '';
    request.on('data', (bytes: Buffer) => (text += bytes.toString('utf8')));
    request.on('end', () => {
      const fake = fakeRequest(request.headers, JSON.parse(text), response);
      requests.push(fake);
      changed();
      void current(fake, requests.length - 1);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const waitFor = async (condition: () => boolean, what: string): Promise<void> => {
    if (condition()) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        waiters.delete(check);
        reject(new Error(`${what} did not come within 60 s`));
      }, 60_000);
      const check = (): void => {
        if (!condition()) return;
        clearTimeout(timer);
        waiters.delete(check);
        resolve();
      };
      waiters.add(check);
    });
  };
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    endedRuns,
    hearEnds(hears) {
      deaf = !hears;
    },
    script(next) {
      current = next;
    },
    waitForRequests: async (count) => await waitFor(() => requests.length >= count, `request ${count}`),
    waitForEnd: async (runId) => await waitFor(() => endedRuns.includes(runId), `the end of ${runId}`),
    async close() {
      if (!server.listening) return;
      // Nobody is let in any more before those who are in lose their connections, as when a process dies.
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function fakeRequest(headers: IncomingHttpHeaders, body: unknown, response: ServerResponse): FakeRequest {
  const clientLeft = new Promise<void>((resolve) => response.once('close', resolve));
  const write = (...writes: (string | Uint8Array)[]): void => {
    if (!response.headersSent) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-fermata-held-ms': '7' });
    }
    for (const piece of writes) response.write(piece);
  };
  return {
    headers,
    body: body as FakeRequest['body'],
    clientLeft,
    write,
    json(status, answer, more = {}) {
      response.writeHead(status, { 'content-type': 'application/json', ...more });
      response.end(JSON.stringify(answer));
    },
    end: () => void response.end(),
    reset: () => void response.destroy(),
    say(text, finishReason = 'stop') {
      write(chunk({ role: 'assistant', content: text }), chunk({}, finishReason), usageChunk, doneEvent);
      response.end();
    },
    call(calls, finishReason = 'tool_calls') {
      const deltas = calls.map((call, index) =>
        chunk({
          tool_calls: [
            {
              index,
              id: call.id ?? `call_${index}`,
              type: 'function',
              function: {
                name: call.name,
                arguments:
                  typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
              },
            },
          ],
        }),
      );
      write(...deltas, chunk({}, finishReason), usageChunk, doneEvent);
      response.end();
    },
  };
}
