import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutResult } from '../../../activities/tool-calls/cut-result.ts';
import { renderResult } from '../../../activities/tool-calls/render-result.ts';

describe('a long result', () => {
  it('keeps head and tail and says how much was cut', () => {
    const text = `head ${'x'.repeat(3_000_000)} tail`;
    const cut = cutResult(text);
    expect(Buffer.byteLength(cut)).toBeLessThan(50_200);
    expect(cut.startsWith('head ')).toBe(true);
    expect(cut.endsWith(' tail')).toBe(true);
    expect(cut).toContain(`[${3_000_010 - 50_000} of 3000010 bytes of this result were cut here`);
  });

  it('is never cut inside a character, and stays as it is when it fits', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 400 }),
        fc.integer({ min: 20, max: 300 }),
        (text, limit) => {
          const cut = cutResult(text, limit);
          expect(cut === text).toBe(Buffer.byteLength(text) <= limit);
          expect(cut).not.toContain('\ufffd');
        },
      ),
    );
  });
});

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
      'a plot:\n[image, image/png, 6 bytes: not shown]\n[resource file:///a.bin, application/octet-stream, 6 bytes: not shown]\n[resource file:///b.txt: b]\nsee',
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

  it('is an error text when the tool failed', () => {
    expect(renderResult({ content: [{ type: 'text', text: 'sensor offline' }], isError: true })).toEqual({
      content: 'Error: sensor offline',
      failed: true,
    });
    expect(renderResult({ content: [], isError: true }).content).toMatch(/^Error: /);
  });
});
