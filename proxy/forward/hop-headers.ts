/**
 * Which headers go from one hop to the next. Pure. Framing belongs to each hop, so nothing of it is ever
 * copied (RFC 9110, 7.6.1); credentials belong to one side; everything else passes unchanged.
 */
import { requestHeaders, responseHeaders } from '../../contracts/headers.ts';

const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** What a request does not keep beside that: framing, credentials, our own names, and what is set anew. */
const requestOnly: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'expect',
  'authorization',
  'x-api-key',
  'accept-encoding',
  ...Object.values(requestHeaders).flat(),
]);

const ownResponseHeaders: ReadonlySet<string> = new Set(Object.values(responseHeaders));

const connection = 'connection';
const none: ReadonlySet<string> = new Set();

/** Names that a `connection` header lists as belonging to its hop. */
function namedByConnection(pairs: readonly string[]): ReadonlySet<string> {
  let names: Set<string> | null = null;
  for (let index = 0; index + 1 < pairs.length; index += 2) {
    const name = pairs[index] ?? '';
    if (name.length !== connection.length || name.toLowerCase() !== connection) continue;
    names ??= new Set();
    for (const one of (pairs[index + 1] ?? '').split(',')) names.add(one.trim().toLowerCase());
  }
  return names ?? none;
}

/**
 * The headers of the request to the replica.
 * @param pairs name, value, name, value, … as the client sent them.
 * @param credentials the header with the replica's own key, if it has one.
 */
export function upstreamRequestHeaders(
  pairs: readonly string[],
  credentials: readonly [name: string, value: string] | null,
): string[] {
  const named = namedByConnection(pairs);
  const out: string[] = [];
  for (let index = 0; index + 1 < pairs.length; index += 2) {
    const name = (pairs[index] ?? '').toLowerCase();
    if (hopByHop.has(name) || requestOnly.has(name) || named.has(name)) continue;
    out.push(name, pairs[index + 1] ?? '');
  }
  // A packed reply could not be read: neither its usage nor how the turn ended.
  out.push('accept-encoding', 'identity');
  if (credentials !== null) out.push(...credentials);
  return out;
}

/**
 * The headers of the response to the client, ours not included.
 * @param pairs name, value, … as the replica sent them.
 * @param keepLength false when the body may lose bytes on its way.
 */
export function clientResponseHeaders(pairs: readonly string[], keepLength: boolean): string[] {
  const named = namedByConnection(pairs);
  const names = pairs.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  const lengthHolds = keepLength && !names.includes('transfer-encoding');
  const out: string[] = [];
  for (let index = 0; index + 1 < pairs.length; index += 2) {
    const name = names[index / 2] ?? '';
    if (hopByHop.has(name) || named.has(name) || ownResponseHeaders.has(name)) continue;
    if (name === 'content-length' && !lengthHolds) continue;
    out.push(pairs[index] ?? '', pairs[index + 1] ?? '');
  }
  return out;
}

/** `pairs` with `own` added, which replace those of the same names. */
export function withOwnHeaders(pairs: readonly string[], own: readonly string[]): string[] {
  const names = new Set(own.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase()));
  const others = pairs.filter((_, index) => !names.has((pairs[index - (index % 2)] ?? '').toLowerCase()));
  return [...others, ...own];
}

/** The value of a header, or null; names are compared without case. */
export function headerValue(pairs: readonly string[], name: string): string | null {
  for (let index = 0; index + 1 < pairs.length; index += 2) {
    if (pairs[index]?.toLowerCase() === name) return pairs[index + 1] ?? null;
  }
  return null;
}
