import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasImages, renderResult } from '../../../activities/tool-calls/render-result.ts';
import { imageLimitBytes, mostResultImages, resultImagesLimitBytes } from '../../../contracts/tool-images.ts';

const starts = {
  'image/png': [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  'image/jpeg': [0xff, 0xd8, 0xff, 0xe0],
  'image/gif': [...Buffer.from('GIF89a')],
  'image/webp': [...Buffer.from('RIFF\0\0\0\0WEBP')],
} as const;
type Type = keyof typeof starts;

const isFile = /^(iVBORw0KGg|\/9j\/|R0lGOD|UklGR)/;
const bytesOf = (type: Type, size = 60): Buffer =>
  Buffer.concat([Buffer.from(starts[type]), Buffer.alloc(size - starts[type].length, 7)]);
const image = (type: Type = 'image/png', size = 60) => ({
  type: 'image',
  mimeType: type,
  data: bytesOf(type, size).toString('base64'),
});
const png = image().data;
const blob = (uri: string, mimeType: string, data: string) => ({
  type: 'resource',
  resource: { uri, mimeType, blob: data },
});
const text = (words: string) => ({ type: 'text', text: words });
const shown = (...content: Record<string, unknown>[]) => renderResult({ content }, 'shown');

describe('for a model that takes images', () => {
  it.each(Object.keys(starts) as Type[])('%s goes along, with a line in its place', (type) => {
    expect(shown(text('a plot:'), image(type), text('done'))).toEqual({
      content: `a plot:\n[image 1: ${type}, 60 bytes]\ndone`,
      images: [{ mimeType: type, data: image(type).data }],
      failed: false,
    });
  });

  it('several images keep their order among texts, links, sounds and files', () => {
    const result = shown(
      image('image/jpeg'),
      text('and'),
      blob('file:///p.png', 'image/png', png),
      { type: 'resource_link', uri: 'file:///b.png', name: 'b', mimeType: 'image/png' },
      { type: 'audio', mimeType: 'audio/wav', data: 'UklGRgAA' },
      blob('file:///c.bin', 'application/octet-stream', 'AAAA'),
      { type: 'resource', resource: { uri: 'file:///d.txt', text: 'words' } },
      image('image/gif'),
    );
    expect(result.images?.map(({ mimeType }) => mimeType)).toEqual(['image/jpeg', 'image/png', 'image/gif']);
    expect(result.content.split('\n')).toEqual([
      '[image 1: image/jpeg, 60 bytes]',
      'and',
      '[image 2: image/png, 60 bytes]',
      '[resource file:///b.png: b, image/png]',
      '[audio/wav, 6 bytes, left out: models get no sound here]',
      '[resource file:///c.bin, application/octet-stream, 3 bytes, left out: no text]',
      'words',
      '[image 3: image/gif, 60 bytes]',
    ]);
  });

  it.each([
    ['a wrong type', 'image/jpeg'],
    ['no type of an image', 'application/octet-stream'],
    ['another spelling', 'IMAGE/PNG; charset=binary'],
    ['none', undefined],
  ])('an image with %s in its label goes along as what it is', (_what, mimeType) => {
    expect(shown({ type: 'image', data: png, mimeType }).images).toEqual([
      { mimeType: 'image/png', data: png },
    ]);
  });

  it.each([
    ['line breaks', png.replaceAll(/(.{20})/g, '$1\r\n')],
    ['no padding', png.replace(/=+$/, '')],
    ['the URL alphabet', png.replaceAll('+', '-').replaceAll('/', '_')],
    ['a data address', `data:image/png;base64,${png}`],
  ])('base64 with %s goes along in the plain form', (_what, data) => {
    expect(shown({ type: 'image', mimeType: 'image/png', data }).images).toEqual([
      { mimeType: 'image/png', data: png },
    ]);
  });

  it.each([
    [
      'no base64',
      'image/png',
      'this is {not} base64',
      '[image/png, 0 bytes, left out: its data is no base64]',
    ],
    ['half a character', 'image/png', `${'A'.repeat(80)}A`, 'left out: its data is no base64]'],
    ['no text', 'image/png', 17, 'left out: its data is no base64]'],
    ['no bytes', 'image/png', '', '[image/png, 0 bytes, left out: it is empty]'],
    ['no bytes but padding', 'image/png', '==', '[image/png, 0 bytes, left out: it is empty]'],
    [
      'a page',
      'image/png',
      Buffer.from('<html>404').toString('base64'),
      'it is no PNG, JPEG, GIF or WebP image]',
    ],
    [
      'a bitmap',
      'image/bmp',
      Buffer.from('BM123456').toString('base64'),
      '[image/bmp, 8 bytes, left out: it is no PNG',
    ],
    ['a sound in RIFF', 'image/webp', Buffer.from('RIFF\0\0\0\0WAVE').toString('base64'), 'it is no PNG'],
    [
      'too many bytes',
      'image/png',
      image('image/png', 400_000).data,
      '[image/png, 400000 bytes, left out: more than 375000 bytes; ask for a smaller one]',
    ],
    [
      '8 MB',
      'image/png',
      image('image/png', 8_000_000).data,
      '[image/png, 8000000 bytes, left out: more than',
    ],
  ])('an image that is %s stays behind, and the result holds together', (_what, mimeType, data, line) => {
    const result = shown(
      text('before'),
      { type: 'image', mimeType, data },
      image('image/gif'),
      text('after'),
    );
    expect(result.images).toEqual([{ mimeType: 'image/gif', data: image('image/gif').data }]);
    expect(result.content).toContain(line);
    expect(result.content).toMatch(/^before\n\[.*left out: .*\]\n\[image 1: image\/gif, 60 bytes\]\nafter$/);
  });

  it('a drawing in SVG is the text that it is', () => {
    const data = Buffer.from('<svg><circle r="3"/></svg>').toString('base64');
    for (const part of [
      { type: 'image', mimeType: 'image/svg+xml', data },
      blob('a.svg', 'image/svg+xml', data),
    ]) {
      expect(shown(part)).toEqual({ content: '<svg><circle r="3"/></svg>', failed: false });
    }
  });

  it('of more images than a result may have the first go along', () => {
    const result = shown(...Array.from({ length: mostResultImages + 3 }, () => image()));
    expect(result.images).toHaveLength(mostResultImages);
    expect(result.content.match(/left out: a result may have 8 images/g)).toHaveLength(3);
  });

  it('images stay within the bytes of one result, and one that still fits is taken', () => {
    const large = image('image/png', 300_000);
    const result = shown(large, large, image());
    expect(result.images?.map(({ data }) => data.length)).toEqual([large.data.length, png.length]);
    expect(result.content).toContain('left out: the images of this result are too large together');
  });

  it('a failure keeps its images', () => {
    const result = renderResult({ content: [text('no such button'), image()], isError: true }, 'shown');
    expect(result).toEqual({
      content: 'Error: no such button\n[image 1: image/png, 60 bytes]',
      images: [{ mimeType: 'image/png', data: png }],
      failed: true,
    });
  });

  it('structured content is shown beside images, since no text says it', () => {
    const result = renderResult({ content: [image()], structuredContent: { found: 3 } }, 'shown');
    expect(result.content).toBe('[image 1: image/png, 60 bytes]\n{"found":3}');
    expect(
      renderResult({ content: [image(), text('3')], structuredContent: { found: 3 } }, 'shown').content,
    ).toBe('[image 1: image/png, 60 bytes]\n3');
  });

  it('an image inside a text stays a line, whoever may see it', () => {
    const data = image('image/png', 900).data;
    const result = shown(text(`![plot](data:image/png;base64,${data})`));
    expect(result).toEqual({ content: '![plot]([image/png, 900 bytes: not shown])', failed: false });
  });
});

describe('for a model that takes no images', () => {
  it.each([
    ['not-taken', 'this model takes no images'],
    ['unknown', 'whether this model takes images could not be asked'],
  ] as const)('%s: each is one line that says so', (use, why) => {
    const content = [text('a plot:'), image('image/jpeg', 12_345), blob('file:///p.png', 'image/png', png)];
    expect(renderResult({ content }, use)).toEqual({
      content: `a plot:\n[image/jpeg, 12345 bytes, left out: ${why}]\n[image/png, 60 bytes, left out: ${why}]`,
      failed: false,
    });
  });

  it('is what a result without more is rendered for', () => {
    expect(renderResult({ content: [image()] }).images).toBeUndefined();
  });
});

it.each([
  [true, [text('a'), image()]],
  [true, [blob('a', 'image/webp', png)]],
  [false, []],
  [false, [text('a'), { type: 'audio', data: png, mimeType: 'audio/wav' }]],
  [false, [{ type: 'image', mimeType: 'image/svg+xml', data: png }]],
  [false, [{ type: 'resource', resource: { uri: 'a', mimeType: 'image/png' } }]],
  [false, [{ type: 'resource_link', uri: 'a', mimeType: 'image/png' }]],
])('the pool has to be asked: %s', (asked, content) => {
  expect(hasImages({ content })).toBe(asked);
});

it('whatever a server sends, no base64 of a file is in the text and all bounds hold', () => {
  const type = fc.constantFrom(...(Object.keys(starts) as Type[]));
  const mimeType = fc.oneof(
    type,
    fc.constantFrom('image/bmp', 'audio/wav', 'application/pdf', 'text/html'),
    fc.string(),
  );
  const data = fc.oneof(
    fc
      .tuple(type, fc.integer({ min: 300, max: 3_000 }))
      .map(([of, size]) => bytesOf(of, size).toString('base64')),
    fc.base64String({ maxLength: 400 }),
    fc.string(),
    fc.constant(undefined),
  );
  const part = fc.oneof(
    fc.record({ type: fc.constantFrom('image', 'audio', 'video'), mimeType, data }),
    fc.record({
      type: fc.constant('resource'),
      resource: fc.record({ uri: fc.string(), mimeType, blob: data }),
    }),
    fc.record({ type: fc.constant('text'), text: fc.oneof(data, fc.string()) }),
    fc.record({ type: fc.string(), anything: fc.anything() }),
  );
  const use = fc.constantFrom('shown' as const, 'not-taken' as const, 'unknown' as const);
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), use, fc.boolean(), (content, how, isError) => {
      const { content: said, images = [] } = renderResult({ content, isError }, how);
      const files = (JSON.parse(JSON.stringify(content)) as { data?: unknown }[]).flatMap(({ data: sent }) =>
        typeof sent === 'string' && sent.length > 300 && isFile.test(sent) ? [sent.slice(20, 120)] : [],
      );
      for (const file of files) expect(said).not.toContain(file);
      expect(said).not.toBe('');
      expect(Buffer.byteLength(said)).toBeLessThanOrEqual(50_000);
      expect(images.length).toBeLessThanOrEqual(how === 'shown' ? mostResultImages : 0);
      expect(images.reduce((sum, one) => sum + one.data.length, 0)).toBeLessThanOrEqual(
        resultImagesLimitBytes,
      );
      for (const one of images) {
        expect(one.data.length).toBeLessThanOrEqual(imageLimitBytes);
        const bytes = Buffer.from(one.data, 'base64');
        expect(bytes.toString('base64')).toBe(one.data);
        expect([...bytes.subarray(0, 3)]).toEqual(starts[one.mimeType as Type].slice(0, 3));
      }
      expect(said.match(/\[image \d+: /g) ?? []).toHaveLength(images.length);
    }),
    { numRuns: 500 },
  );
});
