/**
 * A tool server's result as the text that the model reads. Pure. Images and other bytes become one line,
 * those inside texts too: base64 never goes to a model as text. Structured content is shown only where
 * no text says it already; whether it fits its schema is not looked at here.
 */
import { cutResult } from './cut-result.ts';
import { base64Bytes, withoutInlinedBytes } from './inlined-bytes.ts';

/** The parts of an MCP tool result that are read here; everything else is passed over. */
export interface ToolServerResult {
  readonly content?: readonly Readonly<Record<string, unknown>>[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
}

export interface RenderedResult {
  readonly content: string;
  readonly failed: boolean;
}

export function renderResult(result: ToolServerResult): RenderedResult {
  const parts = (result.content ?? []).map(renderPart).filter((part) => part !== '');
  const failed = result.isError === true;
  if (parts.length === 0 && result.structuredContent !== undefined && result.structuredContent !== null) {
    parts.push(JSON.stringify(result.structuredContent));
  }
  const text = withoutInlinedBytes(parts.join('\n'));
  if (failed) return { content: errorText(text), failed };
  return { content: text.trim() === '' ? '(the tool gave no output)' : cutResult(text), failed };
}

/** A failure as the model reads it. */
export function errorText(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') return 'Error: the tool failed and gave no reason.';
  return /^error\b/i.test(trimmed) ? cutResult(trimmed) : cutResult(`Error: ${trimmed}`);
}

function renderPart(part: Readonly<Record<string, unknown>>): string {
  switch (part['type']) {
    case 'text':
      return typeof part['text'] === 'string' ? part['text'] : '';
    case 'image':
    case 'audio':
      return `[${part['type']}, ${mimeType(part)}, ${base64Bytes(part['data'])} bytes: not shown]`;
    case 'resource_link':
      return `[resource ${textOf(part['uri'])}${part['name'] === undefined ? '' : `: ${textOf(part['name'])}`}]`;
    case 'resource':
      return renderResource(part['resource']);
    default:
      return `[${textOf(part['type'])}: not shown]`;
  }
}

function renderResource(resource: unknown): string {
  if (typeof resource !== 'object' || resource === null) return '';
  const fields = resource as Readonly<Record<string, unknown>>;
  if (typeof fields['text'] === 'string') return fields['text'];
  const text = isTextType(fields['mimeType']) ? textOfBase64(fields['blob']) : null;
  if (text !== null) return text;
  return `[resource ${textOf(fields['uri'])}, ${mimeType(fields)}, ${base64Bytes(fields['blob'])} bytes: not shown]`;
}

/** Types whose bytes are text that a model can read. */
function isTextType(type: unknown): boolean {
  return typeof type === 'string' && /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml|yaml)\b)/i.test(type);
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

function mimeType(part: Readonly<Record<string, unknown>>): string {
  return typeof part['mimeType'] === 'string' ? part['mimeType'] : 'unknown type';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 500) : 'unknown';
}
