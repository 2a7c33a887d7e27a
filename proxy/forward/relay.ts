/**
 * Carries one admitted turn: sends it to its replica and the reply to the client, bytes as they come, at
 * the client's pace. Ends exactly once, with what happened; what that means (try again, report, answer) is
 * decided by its caller. It never changes a byte but for the usage chunk that the client did not ask for.
 */
import type { Agent, Dispatcher } from 'undici';
import type { AbortReason } from '../link/ticket.ts';
import type { ReplySink } from '../reply-sink.ts';
import { nothingRead, wasCut, type ReplyFacts } from '../reply/reply-facts.ts';
import type { ReplyReader, StreamReader } from '../reply/reply-reader.ts';
import { UsageWithholder } from '../reply/usage-withholder.ts';
import { describeConnectionError } from './engine-agent.ts';
import { clientResponseHeaders, headerValue, withOwnHeaders } from './hop-headers.ts';

export interface UpstreamRequest {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly path: string;
  readonly headers: string[];
  readonly body: Buffer;
}

export interface RelayOptions {
  readonly agent: Agent;
  readonly upstream: UpstreamRequest;
  readonly client: ReplySink;
  /** Headers of ours on the response: name, value, … */
  readonly ownHeaders: (status: number) => readonly string[];
  /** The usage chunk was asked for by us. */
  readonly withholdUsage: boolean;
  readonly readStream: () => StreamReader;
  readonly readBody: () => ReplyReader;
  /** Milliseconds without a byte after which the engine counts as failed. */
  readonly idleMs: number;
  /** Whether a reply with this status is kept back instead of passed on. */
  readonly keepBack: (status: number) => boolean;
  /** Called once, or at the end of a reply without a body. */
  readonly onFirstByte: () => void;
  readonly onByte: () => void;
  /** Called once: with what has been read when the reply says that it is over, at the latest at its end. */
  readonly onFinishing: (facts: ReplyFacts) => void;
}

/** A reply that was kept back, to be passed on later or dropped. */
export interface KeptReply {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

export type RelayResult =
  /** The whole reply is on its way to the client. */
  | {
      readonly kind: 'passed';
      readonly status: number;
      readonly facts: ReplyFacts;
      /** The beginning of the body of a reply that is an error. */
      readonly errorText?: string;
    }
  /** A reply of a status that was to be kept back; the client has nothing yet. */
  | { readonly kind: 'kept'; readonly reply: KeptReply }
  /** The engine failed before the client had anything. */
  | { readonly kind: 'unreachable'; readonly message: string }
  | { readonly kind: 'idle' }
  /** The engine failed amid the reply; the client's connection is closed. */
  | { readonly kind: 'broken'; readonly status: number; readonly facts: ReplyFacts; readonly message: string }
  | {
      readonly kind: 'client-gone' | 'client-stalled';
      readonly status: number | null;
      readonly facts: ReplyFacts;
    }
  | {
      readonly kind: 'aborted';
      readonly reason: AbortReason;
      readonly status: number | null;
      readonly facts: ReplyFacts;
    };

/** A reply larger than this is not kept back; an error body is far smaller. */
const maxKeptBytes = 64 * 1024;
/** So much of an error is copied to tell what the engine means. */
const maxErrorBytes = 8 * 1024;

export class Relay implements Dispatcher.DispatchHandler {
  readonly done: Promise<RelayResult>;
  readonly #options: RelayOptions;
  #resolve: ((result: RelayResult) => void) | null = null;
  #ended = false;
  #controller: Dispatcher.DispatchController | null = null;
  #idleTimer: NodeJS.Timeout | null = null;
  #status: number | null = null;
  #headers: string[] = [];
  #reader: ReplyReader | null = null;
  #withholder: UsageWithholder | null = null;
  #isStream = false;
  #kept: Buffer[] | null = null;
  #keptBytes = 0;
  #errorBytes: Buffer[] = [];
  #errorLength = 0;
  #begun = false;
  #toldFinishing = false;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  start(): void {
    const { agent, upstream, client } = this.#options;
    client.onGone(() => this.#stop({ kind: 'client-gone', status: this.#status, facts: this.#facts() }));
    if (this.#ended) return;
    this.#idleTimer = setTimeout(() => this.#onIdle(), this.#options.idleMs);
    try {
      agent.dispatch({ ...upstream, method: 'POST' }, this);
    } catch (error) {
      this.#stop({ kind: 'unreachable', message: describeConnectionError(error as Error) });
    }
  }

  /** Ends the turn from our side: its run has ended or this proxy stops. */
  abort(reason: AbortReason): void {
    this.#stop({ kind: 'aborted', reason, status: this.#status, facts: this.#facts() });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Ended while the connection was being made: nothing of the request is sent.
    if (this.#ended) controller.abort(new Error('the turn has ended'));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    // Informational responses belong to this hop.
    if (this.#ended || status < 200) return;
    this.#status = status;
    this.#headers = textPairs(controller.rawHeaders);
    if (this.#options.keepBack(status)) this.#kept = [];
    else this.#begin(status);
  }

  /** The reply goes to the client: settles how it is read and writes its head. */
  #begin(status: number): void {
    const { client, withholdUsage, ownHeaders } = this.#options;
    const isEventStream = (headerValue(this.#headers, 'content-type') ?? '').startsWith('text/event-stream');
    const isPlain = (headerValue(this.#headers, 'content-encoding') ?? 'identity') === 'identity';
    this.#isStream = isEventStream;
    if (status === 200 && isPlain) {
      const streamReader = isEventStream ? this.#options.readStream() : null;
      this.#reader = streamReader ?? this.#options.readBody();
      if (streamReader !== null && withholdUsage) this.#withholder = new UsageWithholder(streamReader);
    }
    const headers = clientResponseHeaders(this.#headers, this.#withholder === null);
    client.writeHead(status, withOwnHeaders(headers, ownHeaders(status)));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    this.#idleTimer?.refresh();
    this.#options.onByte();
    if (this.#kept === null) this.#carry(chunk);
    else this.#keep(this.#kept, chunk);
    this.#firstByte();
  }

  #carry(chunk: Buffer): void {
    this.#pass(this.#withholder === null ? [chunk] : this.#withholder.push(chunk));
    // The copy is read after the bytes have left; both happen before anything else can.
    if (this.#withholder === null) this.#reader?.feed(chunk);
    else this.#withholder.read();
    if (this.#reader?.finishing === true && !this.#toldFinishing) this.#tellFinishing(this.#facts());
    else if (this.#reader === null && this.#status !== null && this.#status >= 400) this.#copyError(chunk);
  }

  #tellFinishing(facts: ReplyFacts): void {
    if (this.#toldFinishing) return;
    this.#toldFinishing = true;
    this.#options.onFinishing(facts);
  }

  #copyError(chunk: Buffer): void {
    if (this.#errorLength >= maxErrorBytes) return;
    this.#errorBytes.push(chunk);
    this.#errorLength += chunk.length;
  }

  onResponseEnd(): void {
    if (this.#ended || this.#status === null) return;
    this.#firstByte();
    if (this.#kept !== null) {
      const reply = { status: this.#status, headers: this.#headers, body: Buffer.concat(this.#kept) };
      this.#finish({ kind: 'kept', reply });
      return;
    }
    if (this.#withholder === null) this.#reader?.end();
    else this.#pass(this.#withholder.end());
    const facts = this.#facts();
    if (this.#isStream && this.#status === 200 && wasCut(facts)) {
      this.#break('the engine ended its stream without a finish reason');
      return;
    }
    this.#tellFinishing(facts);
    const errorText = Buffer.concat(this.#errorBytes).toString('utf8', 0, maxErrorBytes);
    this.#finish({ kind: 'passed', status: this.#status, facts, errorText });
    this.#options.client.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#ended) return;
    const message = describeConnectionError(error);
    if (this.#status === null || this.#kept !== null) this.#finish({ kind: 'unreachable', message });
    else this.#break(message);
  }

  #firstByte(): void {
    if (!this.#begun) this.#options.onFirstByte();
    this.#begun = true;
  }

  /** Keeps a piece back; a reply that outgrows the bound is passed on after all. */
  #keep(kept: Buffer[], chunk: Buffer): void {
    kept.push(chunk);
    this.#keptBytes += chunk.length;
    if (this.#keptBytes <= maxKeptBytes) return;
    this.#kept = null;
    this.#begin(this.#status ?? 0);
    this.#pass(kept);
  }

  #pass(pieces: readonly Buffer[]): void {
    let keepsUp = true;
    for (const bytes of pieces) {
      if (bytes.length === 0) continue;
      const ready = this.#options.client.write(
        bytes,
        () => this.#resume(),
        () => this.#stop({ kind: 'client-stalled', status: this.#status, facts: this.#facts() }),
      );
      keepsUp &&= ready;
    }
    if (keepsUp || this.#ended) return;
    this.#controller?.pause();
    // The engine is not to blame while we do not read.
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#idleTimer = null;
  }

  #resume(): void {
    if (this.#ended) return;
    this.#idleTimer ??= setTimeout(() => this.#onIdle(), this.#options.idleMs);
    this.#controller?.resume();
  }

  #onIdle(): void {
    if (this.#status === null || this.#kept !== null) this.#stop({ kind: 'idle' });
    else this.#break(`nothing came for ${this.#options.idleMs} ms`);
  }

  /** The engine failed after the client had begun to read: the client must see that it was cut. */
  #break(message: string): void {
    this.#stop({ kind: 'broken', status: this.#status ?? 0, facts: this.#facts(), message });
    this.#options.client.destroy();
  }

  #stop(result: RelayResult): void {
    if (this.#ended) return;
    this.#finish(result);
    this.#controller?.abort(new Error(`turn ended: ${result.kind}`));
  }

  #finish(result: RelayResult): void {
    this.#ended = true;
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#options.client.onGone(() => {});
    this.#resolve?.(result);
  }

  #facts(): ReplyFacts {
    return this.#reader?.facts() ?? nothingRead;
  }
}

/** Header bytes are Latin-1 on the wire, and go out again as such. */
function textPairs(raw: Dispatcher.DispatchController['rawHeaders']): string[] {
  if (!Array.isArray(raw)) return [];
  return raw.map((part: Buffer | string) => (typeof part === 'string' ? part : part.toString('latin1')));
}
