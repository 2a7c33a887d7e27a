/**
 * A client of the run API that holds every answer against the OpenAPI document: the operation and the
 * status must be in it, and the body must be as its schema says.
 */
import { request as httpRequest } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { createParser, type EventSourceMessage } from 'eventsource-parser';

export interface ApiReply {
  readonly status: number;
  readonly headers: Headers;
  /** null: it has none. */
  readonly body: Record<string, unknown> | null;
}

interface OpenApi {
  readonly paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
  readonly components: { readonly schemas: Record<string, unknown> };
}

export class ApiClient {
  readonly url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #document: OpenApi;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  /** Operations that were answered as the document says, such as `get /api/runs 200`. */
  readonly seen = new Set<string>();

  constructor(url: string, document: unknown, headers: Readonly<Record<string, string>> = {}) {
    this.url = url;
    this.#headers = headers;
    this.#document = document as OpenApi;
    addFormats.default(this.#ajv);
    this.#ajv.addSchema({ $id: 'doc', ...(document as object) });
  }

  /** Another one who asks, of the same document. */
  as(headers: Readonly<Record<string, string>>): ApiClient {
    return new ApiClient(this.url, this.#document, headers);
  }

  async get(path: string): Promise<ApiReply> {
    return await this.send('GET', path);
  }

  async post(path: string, body: unknown = {}): Promise<ApiReply> {
    return await this.send('POST', path, JSON.stringify(body), { 'content-type': 'application/json' });
  }

  async send(
    method: string,
    path: string,
    body?: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ApiReply> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { ...this.#headers, ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    const parsed = text === '' ? null : (JSON.parse(text) as Record<string, unknown>);
    if (method === 'GET' || method === 'POST')
      this.#check(method.toLowerCase(), path, response.status, parsed);
    return { status: response.status, headers: response.headers, body: parsed };
  }

  #check(method: string, path: string, status: number, body: unknown): void {
    const bare = path.split('?')[0] ?? '';
    const template = Object.keys(this.#document.paths).find((one) =>
      new RegExp(`^${one.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(bare),
    );
    // What is not in it is refused in the common shape.
    const operation = template === undefined ? undefined : this.#document.paths[template]?.[method];
    if (template === undefined || operation === undefined) {
      if (status !== 404 && status !== 405) throw new Error(`${method} ${path} is not in the document`);
      this.#validate('/components/schemas/Error', body);
      return;
    }
    if (operation.responses[status] === undefined) {
      throw new Error(
        `${method} ${template} answered ${status}, which the document does not have: ${JSON.stringify(body)}`,
      );
    }
    const place = [
      'paths',
      template,
      method,
      'responses',
      String(status),
      'content',
      'application/json',
      'schema',
    ];
    this.#validate(
      place.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
      body,
    );
    this.seen.add(`${method} ${template} ${status}`);
  }

  checkEvent(name: string, data: unknown): void {
    this.#validate(`/components/schemas/Event_${name}`, data);
  }

  #validate(pointer: string, value: unknown): void {
    const validate = this.#ajv.getSchema(`doc#${encodeURI(pointer)}`);
    if (validate === undefined) throw new Error(`the document has no ${pointer}`);
    if (validate(value) !== true) {
      throw new Error(
        `${pointer}: ${this.#ajv.errorsText(validate.errors)}: ${JSON.stringify(value).slice(0, 2_000)}`,
      );
    }
  }

  /** Listens to events, each held against the document. */
  async listen(after: string | null = null): Promise<Listener> {
    const stop = new AbortController();
    const response = await fetch(`${this.url}/api/events`, {
      headers: { ...this.#headers, ...(after === null ? {} : { 'last-event-id': after }) },
      signal: stop.signal,
    });
    if (response.status !== 200) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
    const events: HeardEvent[] = [];
    let lastId: string | null = after;
    let onReady = (): void => undefined;
    const ready = new Promise<void>((resolve) => {
      onReady = resolve;
    });
    const parser = createParser({
      onEvent: ({ event, id, data }: EventSourceMessage) => {
        const parsed = JSON.parse(data) as Record<string, unknown>;
        this.checkEvent(event ?? '', parsed);
        if (id !== undefined) lastId = id;
        events.push({ event: event ?? '', id: id ?? null, data: parsed });
        onReady();
      },
    });
    const read = async (): Promise<void> => {
      const decoder = new TextDecoder();
      for await (const part of response.body ?? []) parser.feed(decoder.decode(part, { stream: true }));
    };
    const ended = read().catch(() => undefined);
    await Promise.race([ready, ended]);
    return {
      events,
      lastId: () => lastId,
      ended,
      close: async () => {
        stop.abort();
        await ended;
      },
    };
  }
}

export interface HeardEvent {
  readonly event: string;
  readonly id: string | null;
  readonly data: Record<string, unknown>;
}

export interface Listener {
  readonly events: readonly HeardEvent[];
  lastId(): string | null;
  /** Resolves when the server has ended the stream, or it broke. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

export async function readDocument(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  return await (await fetch(`${url}/api/openapi.json`, { headers })).json();
}

/** node:http, since fetch does not let a caller choose Host and Origin. */
export async function sendRaw(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): Promise<{ status: number; text: string }> {
  return await new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method, headers }, (response) => {
      readText(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
