/**
 * A tool server's result as the model gets it: a text, and its images for a model that takes them. Pure.
 * Everything else that is bytes becomes one line, those inside texts too: base64 never goes to a model as
 * text. Structured content is shown only where no text says it already; whether it fits its schema is not
 * looked at here.
 */
import type { ToolImage } from '../../contracts/chat-messages.ts';
import { mostResultImages, resultImagesLimitBytes } from '../../contracts/tool-images.ts';
import { cutResult } from './cut-result.ts';
import { withoutInlinedBytes } from './inlined-bytes.ts';
import { leftOutLine, readImage, type ImageUse } from './read-image.ts';

/** The parts of an MCP tool result that are read here; everything else is passed over. */
export interface ToolServerResult {
  readonly content?: readonly Readonly<Record<string, unknown>>[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
}

export interface RenderedResult {
  readonly content: string;
  /** In the order of their lines in the text; absent: none. */
  readonly images?: readonly ToolImage[];
  readonly failed: boolean;
}

/** Whether it matters to this result if the model takes images. */
export function hasImages(result: ToolServerResult): boolean {
  return (result.content ?? []).some((part) => imagePart(part) !== null);
}

/** @param use what becomes of images. */
export function renderResult(result: ToolServerResult, use: ImageUse = 'not-taken'): RenderedResult {
  const images: ToolImage[] = [];
  const parts = (result.content ?? []).map((part) => {
    const image = imagePart(part);
    return image === null ? renderPart(part) : { text: placeImage(image, use, images), says: false };
  });
  const failed = result.isError === true;
  const structured = result.structuredContent ?? null;
  if (structured !== null && !parts.some(({ says }) => says)) {
    parts.push({ text: JSON.stringify(structured), says: true });
  }
  const texts = parts.map(({ text }) => text).filter((text) => text !== '');
  const text = withoutInlinedBytes(texts.join('\n'));
  const shown = images.length === 0 ? {} : { images };
  if (failed) return { content: errorText(text), ...shown, failed };
  return { content: text.trim() === '' ? '(the tool gave no output)' : cutResult(text), ...shown, failed };
}

/** A failure as the model reads it. */
export function errorText(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') return 'Error: the tool failed and gave no reason.';
  return /^error\b/i.test(trimmed) ? cutResult(trimmed) : cutResult(`Error: ${trimmed}`);
}

type Part = Readonly<Record<string, unknown>>;

/** A part's text; `says`: it is the tool's own words, not a line of ours. */
interface RenderedPart {
  readonly text: string;
  readonly says: boolean;
}

interface ImagePart {
  readonly data: unknown;
  readonly type: string;
}

/** An image, or an embedded resource that is one; null: anything else. */
function imagePart(part: Part): ImagePart | null {
  if (part['type'] === 'image') {
    // A drawing in SVG is a text.
    return isTextType(part['mimeType']) ? null : { data: part['data'], type: mimeType(part) };
  }
  const resource = part['type'] === 'resource' ? fieldsOf(part['resource']) : null;
  const type = resource === null ? '' : mimeType(resource);
  return /^image\//i.test(type) && typeof resource?.['blob'] === 'string' && !isTextType(type)
    ? { data: resource['blob'], type }
    : null;
}

/** Adds the image to `images`. @returns the line that stands in its place. */
function placeImage({ data, type }: ImagePart, use: ImageUse, images: ToolImage[]): string {
  const read = readImage(data, type, use);
  if (read.kind === 'left-out') return read.line;
  const { image, bytes } = read;
  const taken = images.reduce((sum, { data: earlier }) => sum + earlier.length, 0);
  const tooMuch =
    images.length >= mostResultImages
      ? `a result may have ${mostResultImages} images`
      : taken + image.data.length > resultImagesLimitBytes
        ? 'the images of this result are too large together'
        : null;
  if (tooMuch !== null) return leftOutLine(image.mimeType, image.data, tooMuch);
  images.push(image);
  return `[image ${images.length}: ${image.mimeType}, ${bytes} bytes]`;
}

function renderPart(part: Part): RenderedPart {
  switch (part['type']) {
    case 'text':
      return said(part['text']);
    case 'image':
      return renderBytes(part['data'], mimeType(part));
    case 'audio':
      return ours(leftOutLine(mimeType(part), base64Of(part['data']), 'models get no sound here'));
    case 'resource_link':
      return ours(linkLine(part));
    case 'resource':
      return renderResource(part['resource']);
    default:
      return ours(`[${textOf(part['type'])}, left out: not known here]`);
  }
}

function renderResource(resource: unknown): RenderedPart {
  const fields = fieldsOf(resource);
  if (fields === null) return ours('');
  if (typeof fields['text'] === 'string') return said(fields['text']);
  return renderBytes(fields['blob'], mimeType(fields), `resource ${textOf(fields['uri'])}, `);
}

/** Bytes that are text as that text, all others as a line. */
function renderBytes(data: unknown, type: string, name = ''): RenderedPart {
  const text = isTextType(type) ? textOfBase64(data) : null;
  return text === null ? ours(leftOutLine(`${name}${type}`, base64Of(data), 'no text')) : said(text);
}

function linkLine(part: Part): string {
  const name = part['name'] ?? part['title'];
  const type = part['mimeType'];
  return `[resource ${textOf(part['uri'])}${name === undefined ? '' : `: ${textOf(name)}`}${typeof type === 'string' ? `, ${textOf(type)}` : ''}]`;
}

function said(text: unknown): RenderedPart {
  return typeof text === 'string' && text !== '' ? { text, says: true } : ours('');
}

function ours(text: string): RenderedPart {
  return { text, says: false };
}

function fieldsOf(value: unknown): Part | null {
  return typeof value === 'object' && value !== null ? (value as Part) : null;
}

/** Types whose bytes are text that a model can read. */
function isTextType(type: unknown): boolean {
  return (
    typeof type === 'string' &&
    /^(?:text\/|image\/svg\+xml\b|application\/(?:[\w.-]+\+)?(?:json|xml|yaml)\b)/i.test(type)
  );
}

/** The text in UTF-8 that the base64 holds; null when it holds anything else. */
function textOfBase64(data: unknown): string | null {
  if (typeof data !== 'string') return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(data, 'base64'));
  } catch {
    return null;
  }
}

function base64Of(data: unknown): string {
  return typeof data === 'string' ? data : '';
}

function mimeType(part: Part): string {
  return typeof part['mimeType'] === 'string' ? part['mimeType'].slice(0, 100) : 'unknown type';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 500) : 'unknown';
}
