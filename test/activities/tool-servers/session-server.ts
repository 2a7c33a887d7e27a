/**
 * A tool server over HTTP of the era with sessions, answered by hand, so that a test decides what becomes of
 * sessions and answers and sees every request. Closed by its owner.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedRequest {
  readonly httpMethod: string;
  /** Of the JSON-RPC message; undefined: a response, or no body. */
  readonly method: string | undefined;
  readonly session: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly message: Message;
}

export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly code: number };
}

export interface SessionServerOptions {
  /** What a request of an unknown session gets. */
  readonly lost?: { readonly status: number; readonly body: object };
  readonly protocolVersion?: string;
  /** `json` (default); `events`: a stream; `cut`: a stream that ends before the answer. */
  readonly answer?: 'json' | 'events' | 'cut' | 'none';
  /** Requests to the client that precede the answer of a call, in its stream of events. */
  readonly ask?: readonly Message[];
  readonly tools?: readonly object[];
  /** What the question for the newer era gets; absent: `Method not found`. */
  readonly probe?:
    | { readonly status: number; readonly contentType: string; readonly body: string }
    | 'nothing';
}

export interface SessionServer {
  readonly url: string;
  readonly received: readonly ReceivedRequest[];
  /** JSON-RPC methods in the order they came. */
  methods(): (string | undefined)[];
  /** Idempotency keys of the calls that were carried out. */
  executed(): readonly string[];
  /** What clients answered to requests of `ask`. */
  replies(): readonly Message[];
  /** Exchanges that have not ended. */
  open(): number;
  loseSessions(): void;
  close(): Promise<void>;
}

export async function startSessionServer(options: SessionServerOptions = {}): Promise<SessionServer> {
  const { lost = notFound, answer = 'json', ask = [], tools = [], probe } = options;
  const received: ReceivedRequest[] = [];
  const executed: string[] = [];
  const replies: Message[] = [];
  const exchanges = new Set<ServerResponse>();
  let session = '';
  let sessions = 0;

  const result = (message: Message): object => {
    if (message.method === 'initialize') {
      const protocolVersion = options.protocolVersion ?? message.params?.['protocolVersion'];
      const serverInfo = { name: 'stub', version: '1' };
      return { protocolVersion, capabilities: { tools: {} }, serverInfo };
    }
    if (message.method === 'tools/list') return { tools };
    const meta = message.params?.['_meta'] as Readonly<Record<string, unknown>> | undefined;
    executed.push(String(meta?.['fermata/idempotencyKey']));
    return { content: [{ type: 'text', text: `call ${executed.length}` }] };
  };
  const serve = (request: IncomingMessage, response: ServerResponse, message: Message): void => {
    const given = request.headers['mcp-session-id']?.toString();
    const { headers, method: httpMethod = '' } = request;
    received.push({ httpMethod, method: message.method, session: given, headers, message });
    const json = (status: number, body: object, more: Record<string, string> = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...more });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id ?? null, ...body }));
    };
    if (httpMethod === 'DELETE') return void response.writeHead(200).end();
    if (httpMethod !== 'POST') return void response.writeHead(405).end();
    if (message.method === 'server/discover' && probe !== undefined) {
      if (probe === 'nothing') return;
      response.writeHead(probe.status, { 'content-type': probe.contentType });
      return void response.end(probe.body);
    }
    if (message.method === 'server/discover')
      return json(400, { error: { code: -32_601, message: 'Method not found' } });
    if (message.method === 'initialize') {
      sessions += 1;
      session = `s-${sessions}`;
      return json(200, { result: result(message) }, { 'mcp-session-id': session });
    }
    if (given !== session) return json(lost.status, lost.body);
    if (message.method === undefined) replies.push(message);
    if (message.id === undefined || message.method === undefined) return void response.writeHead(202).end();
    if (message.method !== 'tools/call' || answer === 'json') return json(200, { result: result(message) });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = (body: object): void => {
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...body })}\n\n`);
    };
    for (const question of ask) event(question);
    const done = { id: message.id, result: result(message) };
    if (answer === 'cut') return void response.end();
    if (answer === 'none') return void response.write(': waiting\n\n');
    const waitForReplies = (): void => {
      if (replies.length < ask.length) return void setImmediate(waitForReplies);
      event(done);
      response.end();
    };
    waitForReplies();
  };
  const server = createServer((request, response) => {
    exchanges.add(response);
    response.once('close', () => exchanges.delete(response));
    let text = '';
    request.on('data', (bytes: Buffer) => (text += bytes.toString('utf8')));
    request.on('end', () => serve(request, response, text === '' ? {} : (JSON.parse(text) as Message)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    received,
    methods: () => received.filter(({ httpMethod }) => httpMethod === 'POST').map(({ method }) => method),
    executed: () => executed,
    replies: () => replies,
    open: () => exchanges.size,
    loseSessions: () => {
      session = 'none';
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const notFound = { status: 404, body: { error: { code: -32_001, message: 'Session not found' } } };
