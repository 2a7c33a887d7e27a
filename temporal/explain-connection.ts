/**
 * Why a connection to Temporal cannot be had, in words that name the setting to mend. gRPC clients say little of
 * it, and each something else: here the same handshake is made by hand, once, and what goes wrong is told.
 */
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import type { TemporalSettings, TemporalTls } from './temporal-settings.ts';

const defaultLimitMs = 2_000;
/** What an HTTP/2 client says first: its preface and an empty frame of settings. */
const preface = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
const settingsFrame = 4;
const timedOut = 'ETIMEDOUT';

export interface ConnectionTrouble {
  /** One line that says what is wrong and what to do. */
  readonly words: string;
  /** Waiting does not help: a setting has to be mended. */
  readonly isFinal: boolean;
  /** Somebody listens there: more than its absence is wrong, or it is about to start or to stop. */
  readonly isReached: boolean;
}

/** @returns null when a server that speaks gRPC answers as the settings say; never rejects. */
export async function explainConnection(
  settings: TemporalSettings,
  limitMs: number = defaultLimitMs,
): Promise<ConnectionTrouble | null> {
  const { address, tls } = settings;
  const at = `Temporal at ${address}`;
  const place = placeOf(address);
  if (tls === undefined || tls === false) {
    const answer = await greet(connectPlain(place), 'connect', limitMs);
    if (answer.kind === 'greeted') return null;
    if (!answer.connected || answer.code === timedOut) return noAnswer(at, answer.code);
    // Something in front of a server that is about to start does the same.
    return passing(
      `${at} takes connections, but does not speak plain gRPC: set TEMPORAL_TLS=true if it wants TLS (an API key turns it on by itself), or see that the port is that of the frontend`,
    );
  }
  let socket: Socket;
  try {
    socket = connectTls({ ...place, ...tlsOptions(place.host, tls === true ? {} : tls) });
  } catch (error) {
    return final(
      `${at}: a certificate or key cannot be read (${wordsOf(error)}); TEMPORAL_TLS_CLIENT_CERT_PATH, TEMPORAL_TLS_CLIENT_KEY_PATH and TEMPORAL_TLS_SERVER_CA_CERT_PATH name PEM files`,
    );
  }
  const answer = await greet(socket, 'secureConnect', limitMs);
  if (answer.kind === 'greeted') return null;
  return explainTls(at, place.host, answer, tls === true ? {} : tls);
}

type Answer =
  | { readonly kind: 'greeted' }
  | {
      readonly kind: 'failed';
      /** The connection was there (with TLS: the server was found to be the right one). */
      readonly connected: boolean;
      readonly code: string;
      readonly words: string;
    };

type Failure = Extract<Answer, { kind: 'failed' }>;

function explainTls(at: string, host: string, answer: Failure, tls: TemporalTls): ConnectionTrouble {
  const { code, words } = answer;
  if (code === timedOut) return noAnswer(at, code);
  if (answer.connected || /alert/i.test(words)) {
    const text =
      tls.clientCertPair === undefined
        ? `${at} ends the connection after the handshake: it may want a certificate of the client; set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH`
        : `${at} refuses the client's certificate (TEMPORAL_TLS_CLIENT_CERT_PATH): it must be signed by an authority that the server trusts, and still hold`;
    return /alert/i.test(words) ? final(text) : passing(text);
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return final(
      `${at}: the server's certificate is not for '${tls.serverNameOverride ?? host}'; set TEMPORAL_TLS_SERVER_NAME to a name in it`,
    );
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return final(
      `${at}: the server's certificate does not hold now (${words}); renew it, or set this machine's clock`,
    );
  }
  if (/CERT|SIGNATURE|ISSUER|SELF_SIGNED/.test(code)) {
    const what =
      tls.serverRootCACertificate === undefined
        ? "is not signed by an authority that this machine trusts; set TEMPORAL_TLS_SERVER_CA_CERT_PATH to the PEM file of the server's authority"
        : 'is not signed by the authority that TEMPORAL_TLS_SERVER_CA_CERT_PATH names; name the one that has signed it';
    return final(`${at}: the server's certificate ${what}`);
  }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL')) {
    return final(
      `${at} does not speak TLS: unset TEMPORAL_TLS and TEMPORAL_TLS_* (set TEMPORAL_TLS=false beside an API key), or see that the port is that of the frontend`,
    );
  }
  return noAnswer(at, code);
}

const final = (words: string): ConnectionTrouble => ({ words, isFinal: true, isReached: true });
const passing = (words: string): ConnectionTrouble => ({ words, isFinal: false, isReached: true });
const unreachable = (words: string): ConnectionTrouble => ({ words, isFinal: false, isReached: false });

function noAnswer(at: string, code: string): ConnectionTrouble {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return unreachable(`${at}: there is no such host; set TEMPORAL_ADDRESS (host:port)`);
  }
  return unreachable(
    `${at} does not answer${code === '' ? '' : ` (${code})`}; start it, or set TEMPORAL_ADDRESS (host:port)`,
  );
}

function placeOf(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replaceAll(/[[\]]/g, ''), port: Number(address.slice(colon + 1)) };
}

function tlsOptions(host: string, tls: TemporalTls): ConnectionOptions {
  const { serverNameOverride, serverRootCACertificate: ca, clientCertPair } = tls;
  const name = serverNameOverride ?? (/^[\d.]+$|:/.test(host) ? undefined : host);
  return {
    ALPNProtocols: ['h2'],
    ...(name === undefined ? {} : { servername: name }),
    ...(ca === undefined ? {} : { ca: Buffer.from(ca) }),
    ...(clientCertPair === undefined
      ? {}
      : { cert: Buffer.from(clientCertPair.crt), key: Buffer.from(clientCertPair.key) }),
  };
}

/** Says hello as HTTP/2 does and waits for the server's settings. */
async function greet(socket: Socket, ready: 'connect' | 'secureConnect', limitMs: number): Promise<Answer> {
  return await new Promise((resolve) => {
    let connected = false;
    const settle = (answer: Answer): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const fail = (code: string, words: string): void => settle({ kind: 'failed', connected, code, words });
    const timer = setTimeout(() => fail(timedOut, 'no answer'), limitMs);
    // Kept to the end: a socket that is destroyed may still tell of an error.
    socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? '', error.message));
    socket.once('close', () => fail('ECONNRESET', 'the connection was closed'));
    socket.once(ready, () => {
      connected = true;
      socket.write(preface);
    });
    socket.once('data', (chunk: Buffer) => {
      if (chunk[3] === settingsFrame) settle({ kind: 'greeted' });
      else fail('EPROTO', 'it speaks something else');
    });
  });
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
