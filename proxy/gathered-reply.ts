/** A reply that is kept in memory, to be translated before the client gets it. It keeps no partial reply. */
import type { ClientExchange } from './client-exchange.ts';
import { clientResponseHeaders } from './forward/hop-headers.ts';
import type { ReplySink } from './reply-sink.ts';

/** A reply to be translated is small; one beyond this cuts the turn. */
const maxGatheredBytes = 1024 * 1024;

export class GatheredReply implements ReplySink {
  readonly #client: ClientExchange;
  #status = 0;
  #headers: readonly string[] = [];
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;

  constructor(client: ClientExchange) {
    this.#client = client;
  }

  onGone(listener: () => void): void {
    this.#client.onGone(listener);
  }

  writeHead(status: number, pairs: readonly string[]): void {
    this.#status = status;
    this.#headers = pairs;
  }

  write(bytes: Uint8Array): boolean {
    this.#bytes += bytes.length;
    if (this.#bytes > maxGatheredBytes) this.destroy();
    else this.#chunks.push(bytes);
    return true;
  }

  /** Nothing yet: {@link deliver} writes to the client. */
  end(): void {}

  destroy(): void {
    this.#client.destroy();
  }

  /**
   * Sends a 200 translated and everything else unchanged.
   * @param ownHeaders of ours for the translated reply.
   * @throws whatever `translate` throws.
   */
  deliver(translate: (reply: Buffer) => string, ownHeaders: readonly string[]): void {
    const reply = Buffer.concat(this.#chunks);
    if (this.#status !== 200) {
      this.#client.send(this.#status, clientResponseHeaders(this.#headers, true), reply);
      return;
    }
    const body = Buffer.from(translate(reply));
    this.#client.send(200, ['content-type', 'application/json', ...ownHeaders], body);
  }
}
