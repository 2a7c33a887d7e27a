/** One request as the load generator sees it: when its first byte and its end came, and what was wrong. */
import type { Dispatcher } from 'undici';
import { clockMs } from './clock.ts';

export interface ExchangeEnd {
  /** null: answered whole with status 200. */
  readonly fault: string | null;
  readonly endedAtMs: number;
}

export interface ExchangeOptions {
  /** Whether the reply must be an event stream that ends as one. */
  readonly stream: boolean;
  /** Called with each piece of the body and the moment it came; absent: nobody looks at them. */
  readonly onData?: (text: string, atMs: number) => void;
  readonly onEnd: (end: ExchangeEnd) => void;
}

const tailBytes = 64;

export class Exchange implements Dispatcher.DispatchHandler {
  firstByteAtMs: number | null = null;
  readonly #options: ExchangeOptions;
  #status = 0;
  #tail = '';
  #ended = false;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const atMs = clockMs();
    this.firstByteAtMs ??= atMs;
    if (this.#options.onData !== undefined) this.#options.onData(chunk.toString('latin1'), atMs);
    this.#tail = (this.#tail + chunk.toString('latin1', Math.max(0, chunk.length - tailBytes))).slice(
      -tailBytes,
    );
  }

  onResponseEnd(): void {
    const { stream } = this.#options;
    if (this.#status !== 200) this.#end(`status ${this.#status}`);
    else if (stream && !this.#tail.includes('data: [DONE]')) this.#end('a stream without its end');
    else if (!stream && !this.#tail.trimEnd().endsWith('}')) this.#end('a body that is not whole');
    else this.#end(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end(error.message === '' ? error.name : error.message);
  }

  #end(fault: string | null): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#options.onEnd({ fault, endedAtMs: clockMs() });
  }
}

export function sendChat(
  dispatcher: Dispatcher,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  exchange: Exchange,
): void {
  dispatcher.dispatch({ method: 'POST', path: '/v1/chat/completions', headers, body }, exchange);
}

export function chatHeaders(own: Readonly<Record<string, string>>): Record<string, string> {
  return { 'content-type': 'application/json', authorization: 'Bearer sk-bench', ...own };
}
