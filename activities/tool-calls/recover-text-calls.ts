/**
 * Tool calls that a model wrote as text: bare JSON, JSON or tags inside `<tool_call>`, or a call after a
 * mark. Pure. A call is recovered only when it names a known tool and nothing but calls, and at most
 * prose around them, is there; what stands in code marks is an example and stays text.
 */
import { isRecord, parseValue, plainValue } from './parse-arguments.ts';

export interface TextCall {
  readonly name: string;
  /** JSON text of an object. */
  readonly arguments: string;
}

export interface RecoveredCalls {
  readonly calls: readonly TextCall[];
  /** The content without the calls. */
  readonly content: string;
}

type KnownNames = ReadonlySet<string>;

/** @returns null when the content holds no call to recover. */
export function recoverTextCalls(content: string, known: KnownNames): RecoveredCalls | null {
  const text = content.trim();
  if (text === '') return null;
  const whole = wholeContent(text, known);
  if (whole !== null) return { calls: whole, content: '' };
  return taggedCalls(text, known);
}

const openingMark = /^(?:<\|python_start\|>|<\|python_tag\|>|\[TOOL_CALLS\])\s*/;
const closingMark = /\s*(?:<\|python_end\|>|<\|eom_id\|>|<\|eot_id\|>)$/;

/** The whole content as calls: JSON with or without marks or one code fence around it. */
function wholeContent(text: string, known: KnownNames): TextCall[] | null {
  const marked = openingMark.test(text);
  const body = text.replace(openingMark, '').replace(closingMark, '');
  const fenced = /^```[\w-]*\s*\n([\s\S]*?)\n?```$/.exec(body);
  const inner = (fenced?.[1] ?? body).trim();
  if (/^[{[]/.test(inner)) {
    const value = plainValue(parseValue(inner));
    const values: unknown[] = Array.isArray(value) ? value : [value];
    const calls = values.map((entry) => jsonCall(entry, known));
    return calls.length > 0 && calls.every((call) => call !== null) ? calls : null;
  }
  const spoken = marked ? pythonCall(inner, known) : null;
  return spoken === null ? null : [spoken];
}

function jsonCall(value: unknown, known: KnownNames): TextCall | null {
  if (!isRecord(value)) return null;
  if (isRecord(value['function'])) return jsonCall(value['function'], known);
  const { name } = value;
  if (typeof name !== 'string' || !known.has(name)) return null;
  const given = value['arguments'] ?? value['parameters'];
  if (typeof given === 'string') return { name, arguments: given };
  return isRecord(given) ? { name, arguments: JSON.stringify(given) } : null;
}

/** `name(key="value", …)` with literals only. */
function pythonCall(text: string, known: KnownNames): TextCall | null {
  const match = /^([A-Za-z0-9_.-]+)\(([\s\S]*)\)$/.exec(text);
  const name = match?.[1] ?? '';
  if (!known.has(name)) return null;
  const fields: Record<string, unknown> = {};
  let rest = (match?.[2] ?? '').trim();
  while (rest !== '') {
    const field =
      /^([A-Za-z_]\w*)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[-+\w.]+|\[[^\]]*\]|\{[^}]*\})\s*(?:,\s*|$)/.exec(
        rest,
      );
    if (field === null) return null;
    const literal = (field[2] ?? '').replace(/^(?:True|False)$/, (word) => word.toLowerCase());
    const value = literal === 'None' ? null : plainValue(parseValue(literal));
    if (value === undefined) return null;
    fields[field[1] ?? ''] = value;
    rest = rest.slice(field[0].length);
  }
  return { name, arguments: JSON.stringify(fields) };
}

const callStart = /<tool_call>|<function=/;

/** Tagged calls with prose around them; null as soon as anything looks like a call and cannot be read. */
function taggedCalls(text: string, known: KnownNames): RecoveredCalls | null {
  const visible = withoutCode(text);
  const first = callStart.exec(visible)?.index;
  if (first === undefined) return null;
  const calls: TextCall[] = [];
  const prose: string[] = [text.slice(0, first)];
  let rest = text.slice(first);
  while (callStart.test(rest)) {
    const start = callStart.exec(rest)?.index ?? 0;
    prose.push(rest.slice(0, start));
    const block = readBlock(rest.slice(start), known);
    if (block === null) return null;
    calls.push(block.call);
    rest = rest.slice(start + block.length);
  }
  prose.push(rest);
  const left = prose
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join('\n\n');
  return /<\/?(?:tool_call|function|parameter)\b/.test(left) ? null : { calls, content: left };
}

/** The text with everything in code marks blanked out, in the same length. */
function withoutCode(text: string): string {
  return text.replaceAll(/```[\s\S]*?(?:```|$)|`[^`\n]*`/g, (code) => ' '.repeat(code.length));
}

interface Block {
  readonly call: TextCall;
  readonly length: number;
}

function readBlock(text: string, known: KnownNames): Block | null {
  const open = /^<tool_call>\s*/.exec(text)?.[0] ?? '';
  const body = text.slice(open.length);
  const read = body.startsWith('<function=')
    ? functionBlock(body, known)
    : open === ''
      ? null
      : jsonBlock(body, known);
  if (read === null) return null;
  const close = /^\s*<\/tool_call>/.exec(body.slice(read.length))?.[0] ?? '';
  return { call: read.call, length: open.length + read.length + close.length };
}

function jsonBlock(body: string, known: KnownNames): Block | null {
  const end = /\s*(?:<\/tool_call>|<tool_call>|$)/.exec(body);
  const closed = body.indexOf('</tool_call>');
  const cut = closed === -1 ? (end?.index ?? body.length) : closed;
  const json = body.slice(0, cut).trim();
  // A closing tag proves that the call is complete, even where its last brace was eaten.
  const value = parseValue(json) ?? (closed === -1 ? undefined : parseValue(`${json}}`));
  const call = jsonCall(plainValue(value), known);
  return call === null ? null : { call, length: cut };
}

const parameterEnd = /<\/parameter>(?=\s*(?:<parameter=|<\/function>|<\/tool_call>|$))/;

function functionBlock(body: string, known: KnownNames): Block | null {
  const head = /^<function=([A-Za-z0-9_.-]+)>\s*/.exec(body);
  const name = head?.[1] ?? '';
  if (head === null || !known.has(name)) return null;
  const fields: Record<string, string> = {};
  let at = head[0].length;
  for (;;) {
    const open = /^\s*<parameter=([^>\n]+)>/.exec(body.slice(at));
    if (open === null) break;
    const from = at + open[0].length;
    const value = parameterValue(body.slice(from));
    fields[(open[1] ?? '').trim()] = value.text;
    at = from + value.length;
  }
  const close = /^\s*<\/function>/.exec(body.slice(at))?.[0] ?? '';
  return { call: { name, arguments: JSON.stringify(fields) }, length: at + close.length };
}

function parameterValue(text: string): { readonly text: string; readonly length: number } {
  const closed = parameterEnd.exec(text);
  const next = /<parameter=|<\/function>|<\/tool_call>/.exec(text);
  const useClosed =
    closed !== null &&
    (next === null || closed.index <= next.index || text.slice(0, closed.index).includes('\n'));
  const end = useClosed ? closed.index : (next?.index ?? text.length);
  const length = useClosed ? end + closed[0].length : end;
  const raw = text.slice(0, end);
  const body = raw.startsWith('\n') ? raw.slice(1) : raw.trimStart();
  return { text: body.trimEnd(), length };
}
