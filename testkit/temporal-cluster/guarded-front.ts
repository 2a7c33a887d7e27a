/**
 * A door in front of a Temporal server that speaks plain: TLS, client certificates and API keys, as a cluster
 * behind a gateway or Temporal Cloud asks for them. What passes is handed on unchanged.
 */
import {
  connect,
  constants,
  createSecureServer,
  createServer as createPlainServer,
  type Http2SecureServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { listen } from '../listen.ts';
import type { KeyAndCertificate } from './certificates.ts';

export interface FrontOptions {
  /** host:port of the server behind it. */
  readonly upstream: string;
  /** null: it speaks plain, too. */
  readonly tls: {
    readonly certificate: KeyAndCertificate;
    /** PEM of the authority of client certificates; null: nobody is asked for one. */
    readonly clientCa: string | null;
  } | null;
  /** The one that is let in; null: nobody is asked for one. */
  readonly apiKey: string | null;
  /** Calls that nobody may make, by their path, such as `/temporal.api.operatorservice.v1.`; default: none. */
  readonly closed?: string;
}

export interface GuardedFront {
  /** host:port; the host is `127.0.0.1`. */
  readonly address: string;
  /** Values of `authorization` that came with calls, each once. */
  readonly keysSeen: ReadonlySet<string>;
  /** How many calls were handed on. */
  passed(): number;
  close(): Promise<void>;
}

const host = '127.0.0.1';
const unauthenticated = '16';
const permissionDenied = '7';

export async function startGuardedFront(options: FrontOptions): Promise<GuardedFront> {
  const keysSeen = new Set<string>();
  let passed = 0;
  const upstream = connect(`http://${options.upstream}`);
  upstream.on('error', () => undefined);
  const server = serverOf(options.tls);
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  server.on('sessionError', () => undefined);
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    const key = headers.authorization ?? '';
    if (key !== '') keysSeen.add(key);
    if (options.apiKey !== null && key !== `Bearer ${options.apiKey}`) return refuse(stream, unauthenticated);
    const isClosed = options.closed !== undefined && headers[':path']?.startsWith(options.closed) === true;
    if (isClosed) return refuse(stream, permissionDenied);
    passed += 1;
    handOn(upstream, stream, headers);
  });
  const port = await listen(server, host, 0);
  return {
    address: `${host}:${port}`,
    keysSeen,
    passed: () => passed,
    async close() {
      for (const session of sessions) session.destroy();
      upstream.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function serverOf(tls: FrontOptions['tls']): Http2Server | Http2SecureServer {
  if (tls === null) return createPlainServer();
  const { certificate, clientCa } = tls;
  return createSecureServer({
    cert: certificate.cert,
    key: certificate.key,
    ...(clientCa === null ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: true }),
  });
}

/** As Temporal Cloud words it. */
function refuse(stream: ServerHttp2Stream, status: string): void {
  const headers = {
    ':status': 200,
    'content-type': 'application/grpc',
    'grpc-status': status,
    'grpc-message': 'Request unauthorized.',
  };
  stream.respond(headers, { endStream: true });
}

function handOn(
  upstream: ReturnType<typeof connect>,
  stream: ServerHttp2Stream,
  { [constants.HTTP2_HEADER_AUTHORITY]: _authority, ...headers }: IncomingHttpHeaders,
): void {
  if (upstream.destroyed || upstream.closed) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
  const request = upstream.request(headers, { endStream: false });
  stream.pipe(request);
  request.once('response', (answer, flags) => {
    const only = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    if (stream.destroyed) return;
    stream.respond(answer, { endStream: only, waitForTrailers: !only });
    if (!only) request.pipe(stream);
  });
  let trailers: IncomingHttpHeaders = {};
  request.once('trailers', (received) => {
    trailers = received;
  });
  stream.once('wantTrailers', () => stream.sendTrailers(trailers));
  const cancel = (): void => request.close(constants.NGHTTP2_CANCEL);
  stream.once('aborted', cancel);
  stream.once('close', () => {
    if (!request.closed) cancel();
  });
  request.once('error', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
}
