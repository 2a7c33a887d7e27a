import { describe, expect, it } from 'vitest';
import {
  clientResponseHeaders,
  headerValue,
  upstreamRequestHeaders,
} from '../../../proxy/forward/hop-headers.ts';

const pairs = (headers: Record<string, string>): string[] => Object.entries(headers).flat();

describe('the headers of the request to a replica', () => {
  const sent = upstreamRequestHeaders(
    pairs({
      'Content-Type': 'application/json',
      'Transfer-Encoding': 'chunked',
      Connection: 'keep-alive, x-hop',
      'X-Hop': '1',
      TE: 'trailers',
      'Keep-Alive': 'timeout=5',
      'Proxy-Authorization': 'Basic dGVzdA==',
      Authorization: 'Bearer test-client-key',
      Host: 'proxy:8080',
      'Content-Length': '17',
      Expect: '100-continue',
      Upgrade: 'h2c',
      'Accept-Encoding': 'gzip, br',
      'X-Fermata-Run-Id': 'r',
      'X-Luftpause-Class': 'batch',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'x-unknown': 'stays',
      'x-session-id': 's',
    }),
    null,
  );

  it('hold what is no framing, no hop, no credential and no name of ours', () => {
    expect(sent).toEqual([
      'content-type',
      'application/json',
      'traceparent',
      '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'x-unknown',
      'stays',
      'x-session-id',
      's',
      'accept-encoding',
      'identity',
    ]);
  });

  it.each([
    ['authorization', 'Bearer own'],
    ['x-api-key', 'own'],
  ] as const)('carry the replica\u2019s own key in %s and never one of the client\u2019s', (name, value) => {
    const client = {
      Authorization: 'Bearer client',
      'X-Api-Key': 'client',
      'Proxy-Authorization': 'Basic client',
    };
    expect(upstreamRequestHeaders(pairs(client), null).join(' ')).not.toContain('client');
    const withKey = upstreamRequestHeaders(pairs(client), [name, value]);
    expect(withKey.join(' ')).not.toContain('client');
    expect(headerValue(withKey, name)).toBe(value);
    expect(withKey.filter((other) => other === name)).toHaveLength(1);
  });

  it('keep repeated headers apart', () => {
    expect(upstreamRequestHeaders(['X-A', '1', 'X-A', '2'], null).slice(0, 4)).toEqual([
      'x-a',
      '1',
      'x-a',
      '2',
    ]);
  });
});

describe('the headers of the response to a client', () => {
  const upstream = {
    'Content-Type': 'text/event-stream',
    'Transfer-Encoding': 'chunked',
    'Content-Length': '17',
    Connection: 'close, x-hop',
    'x-hop': '1',
    Trailer: 'x-t',
    'Set-Cookie': 'a=b',
  };

  it('never hold a length beside chunks', () => {
    expect(clientResponseHeaders(pairs(upstream), true)).toEqual([
      'Content-Type',
      'text/event-stream',
      'Set-Cookie',
      'a=b',
    ]);
  });

  it('keep encoding and length together when the bytes stay as they are', () => {
    const packed = pairs({ 'content-encoding': 'gzip', 'content-length': '181' });
    expect(clientResponseHeaders(packed, true)).toEqual(packed);
  });

  it('drop the length when the body may lose bytes', () => {
    expect(clientResponseHeaders(['content-length', '181', 'x', 'y'], false)).toEqual(['x', 'y']);
  });

  it('never pass an engine\u2019s word for ours', () => {
    expect(
      clientResponseHeaders(pairs({ 'X-Fermata-Run-Id': 'forged', 'x-fermata-replica': 'z' }), true),
    ).toEqual([]);
  });
});
