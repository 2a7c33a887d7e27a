import { describe, expect, it, vi } from 'vitest';
import { bindResponse } from '../../mcp-server/mcp/bound-response.ts';

function streamed() {
  const cancel = vi.fn<(reason: unknown) => void>();
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
    cancel,
  });
  const say = (text: string): void => controller?.enqueue(new TextEncoder().encode(text));
  return {
    response: new Response(body, { status: 201, headers: { x: 'y' } }),
    cancel,
    say,
    end: () => controller?.close(),
  };
}

describe('a bound response', () => {
  it('passes everything on and tells of its end', async () => {
    const { response, say, end } = streamed();
    const onEnd = vi.fn<() => void>();
    const bound = bindResponse(response, new AbortController().signal, onEnd);
    expect([bound.status, bound.headers.get('x')]).toEqual([201, 'y']);
    say('one');
    say(' two');
    expect(onEnd).not.toHaveBeenCalled();
    end();
    expect(await bound.text()).toBe('one two');
    expect(onEnd).toHaveBeenCalledTimes(1);
  });

  it('cancels its source at once when the client goes, though nothing is being written', async () => {
    const { response, cancel } = streamed();
    const onEnd = vi.fn<() => void>();
    const client = new AbortController();
    const bound = bindResponse(response, client.signal, onEnd);
    const read = bound.text();
    client.abort();
    await vi.waitFor(() => expect(cancel).toHaveBeenCalledTimes(1));
    expect(onEnd).toHaveBeenCalledTimes(1);
    expect(await read).toBe('');
  });

  it('cancels its source when the client had gone before', async () => {
    const { response, cancel } = streamed();
    const onEnd = vi.fn<() => void>();
    bindResponse(response, AbortSignal.abort(), onEnd);
    await vi.waitFor(() => expect(cancel).toHaveBeenCalledTimes(1));
    expect(onEnd).toHaveBeenCalledTimes(1);
  });

  it('cancels its source when its reader does', async () => {
    const { response, cancel } = streamed();
    const onEnd = vi.fn<() => void>();
    await bindResponse(response, new AbortController().signal, onEnd).body?.cancel('enough');
    expect(cancel).toHaveBeenCalledWith('enough');
    expect(onEnd).toHaveBeenCalledTimes(1);
  });

  it('has ended at once when it has no body', () => {
    const onEnd = vi.fn<() => void>();
    bindResponse(new Response(null, { status: 202 }), new AbortController().signal, onEnd);
    expect(onEnd).toHaveBeenCalledTimes(1);
  });
});
