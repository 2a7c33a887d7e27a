import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderResult } from '../../../activities/tool-calls/render-result.ts';

describe('a tool result as the model reads it', () => {
  it('is its text', () => {
    expect(
      renderResult({
        content: [
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ],
      }),
    ).toEqual({ content: 'one\ntwo', failed: false });
  });

  it('shows images and blobs as one line each, never their base64', () => {
    const data = Buffer.from('pixels').toString('base64');
    const { content } = renderResult({
      content: [
        { type: 'text', text: 'a plot:' },
        { type: 'image', data, mimeType: 'image/png' },
        {
          type: 'resource',
          resource: { uri: 'file:///a.bin', blob: data, mimeType: 'application/octet-stream' },
        },
        { type: 'resource_link', uri: 'file:///b.txt', name: 'b' },
        { type: 'resource', resource: { uri: 'file:///c.txt', text: 'see' } },
      ],
    });
    expect(content).not.toContain(data);
    expect(content).toBe(
      'a plot:\n[image/png, 6 bytes, left out: this model takes no images]\n[resource file:///a.bin, application/octet-stream, 6 bytes, left out: no text]\n[resource file:///b.txt: b]\nsee',
    );
  });

  it.each([
    [
      'structured content once, where text repeats it',
      { content: [{ type: 'text', text: '{"temp":3}' }], structuredContent: { temp: 3 } },
      '{"temp":3}',
    ],
    ['structured content alone', { content: [], structuredContent: { temp: 3 } }, '{"temp":3}'],
    [
      'text without the structured content it promised',
      { content: [{ type: 'text', text: '3 degrees' }] },
      '3 degrees',
    ],
    ['nothing', { content: [] }, '(the tool gave no output)'],
  ])('shows %s', (_what, result, content) => {
    expect(renderResult(result)).toEqual({ content, failed: false });
  });

  it('decodes blobs that are text', () => {
    const blob = Buffer.from('größe: 3').toString('base64');
    const resource = (mimeType: string, data = blob) => ({
      content: [{ type: 'resource', resource: { uri: 'mem:a', mimeType, blob: data } }],
    });
    expect(renderResult(resource('text/plain')).content).toBe('größe: 3');
    expect(renderResult(resource('application/ld+json')).content).toBe('größe: 3');
    expect(renderResult(resource('text/plain', '/////w==')).content).toBe(
      '[resource mem:a, text/plain, 4 bytes, left out: no text]',
    );
  });

  it('never shows base64 that a server put into a text or into structured content', () => {
    const header = fc.constantFrom(
      [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
      [0xff, 0xd8, 0xff, 0xe0],
      [0x25, 0x50, 0x44, 0x46, 0x2d],
    );
    const file = fc
      .tuple(header, fc.uint8Array({ minLength: 300, maxLength: 3_000 }))
      .map(([start, rest]) => Buffer.concat([Buffer.from(start), rest]).toString('base64'));
    const place = fc.constantFrom(
      (data: string) => ({ content: [{ type: 'text', text: `plot: data:image/png;base64,${data} end` }] }),
      (data: string) => ({ content: [{ type: 'text', text: data }] }),
      (data: string) => ({ content: [{ type: 'text', text: JSON.stringify({ plot: data }) }] }),
      (data: string) => ({ content: [], structuredContent: { plots: [{ data }] } }),
      (data: string) => ({ content: [{ type: 'text', text: `failed: ${data}` }], isError: true }),
    );
    fc.assert(
      fc.property(file, place, (data, put) => {
        const { content } = renderResult(put(data));
        expect(content).toContain('bytes: not shown]');
        expect(content).not.toContain(data.slice(20, 60));
      }),
    );
  });

  it('shows texts that only look a little like base64', () => {
    for (const text of [
      'x'.repeat(5_000),
      '/9j/ is how a JPEG begins',
      'deadbeef'.repeat(100),
      'data:,plain',
    ]) {
      expect(renderResult({ content: [{ type: 'text', text }] }).content).toBe(text);
    }
  });

  it('is an error text when the tool failed', () => {
    expect(renderResult({ content: [{ type: 'text', text: 'sensor offline' }], isError: true })).toEqual({
      content: 'Error: sensor offline',
      failed: true,
    });
    expect(renderResult({ content: [], isError: true }).content).toMatch(/^Error: /);
  });
});
