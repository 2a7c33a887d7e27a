/**
 * A tool server's result as the text that the model reads. Pure. Images and other bytes become one line:
 * base64 never goes to a model as text. Structured content is shown only where no text says it already.
 */
import { cutResult } from './cut-result.ts';

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
  const text = cutResult(parts.join('\n'));
  if (failed) return { content: errorText(text), failed };
  return { content: text === '' ? '(the tool gave no output)' : text, failed };
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
  return `[resource ${textOf(fields['uri'])}, ${mimeType(fields)}, ${base64Bytes(fields['blob'])} bytes: not shown]`;
}

function mimeType(part: Readonly<Record<string, unknown>>): string {
  return typeof part['mimeType'] === 'string' ? part['mimeType'] : 'unknown type';
}

function base64Bytes(data: unknown): number {
  return typeof data === 'string' ? Math.floor((data.replace(/=+$/, '').length * 3) / 4) : 0;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 500) : 'unknown';
}
