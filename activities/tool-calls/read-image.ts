/**
 * An image as a tool server sends it: checked, or the line that stands in its place and says why. Pure.
 * What it is its bytes say, not its label: engines refuse a conversation over one image that is none.
 */
import type { ToolImage } from '../../contracts/chat-messages.ts';
import { imageLimitBytes } from '../../contracts/tool-images.ts';
import { base64Bytes } from './inlined-bytes.ts';

/** What becomes of the images of a result. */
export type ImageUse = 'shown' | 'not-taken' | 'unknown';

export type ReadImage =
  | { readonly kind: 'image'; readonly image: ToolImage; readonly bytes: number }
  | { readonly kind: 'left-out'; readonly line: string };

/** How the types that engines take begin. */
const imageStarts: readonly { readonly mimeType: string; readonly isStart: (bytes: Buffer) => boolean }[] = [
  {
    mimeType: 'image/png',
    isStart: (bytes) => startsWith(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  },
  { mimeType: 'image/jpeg', isStart: (bytes) => startsWith(bytes, [0xff, 0xd8, 0xff]) },
  { mimeType: 'image/gif', isStart: (bytes) => /^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6)) },
  {
    mimeType: 'image/webp',
    isStart: (bytes) =>
      bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP',
  },
];

/** More than a start has. */
const startCharacters = 64;

/**
 * @param data base64; line breaks, the URL alphabet and a `data:` address are taken too.
 * @param declaredType shown where nothing better is known.
 */
export function readImage(data: unknown, declaredType: string, use: ImageUse): ReadImage {
  const base64 = plainBase64(data);
  const leftOut = (why: string, type = declaredType): ReadImage => ({
    kind: 'left-out',
    line: leftOutLine(type, base64 ?? '', why),
  });
  if (base64 === null) return leftOut('its data is no base64');
  if (base64 === '') return leftOut('it is empty');
  const start = Buffer.from(base64.slice(0, startCharacters), 'base64');
  const type = imageStarts.find(({ isStart }) => isStart(start))?.mimeType;
  if (use === 'not-taken') return leftOut('this model takes no images', type);
  if (use === 'unknown') return leftOut('whether this model takes images could not be asked', type);
  if (type === undefined) return leftOut('it is no PNG, JPEG, GIF or WebP image');
  if (base64.length > imageLimitBytes) {
    return leftOut(
      `more than ${base64Bytes('A'.repeat(imageLimitBytes))} bytes; ask for a smaller one`,
      type,
    );
  }
  return { kind: 'image', image: { mimeType: type, data: base64 }, bytes: base64Bytes(base64) };
}

/** @param type as declared or found. */
export function leftOutLine(type: string, base64: string, why: string): string {
  return `[${type}, ${base64Bytes(base64)} bytes, left out: ${why}]`;
}

/** In the alphabet that engines take, padded, without breaks; null when it is anything else. */
function plainBase64(data: unknown): string | null {
  if (typeof data !== 'string') return null;
  const text = data
    .replace(/^data:[^,]{0,200};base64,/, '')
    .replaceAll(/\s+/g, '')
    .replace(/=+$/, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/');
  if (!/^[A-Za-z0-9+/]*$/.test(text) || text.length % 4 === 1) return null;
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=');
}

function startsWith(bytes: Buffer, start: readonly number[]): boolean {
  return start.every((byte, index) => bytes[index] === byte);
}
