/**
 * Tool calls that a model wrote as text: bare JSON, JSON or tags inside `<tool_call>`, or a call after a
 * mark. Pure. A call is recovered only when it names a known tool and nothing but calls, and at most
 * prose around them, is there. What stands in code marks, in quotes or inside a sentence is an example
 * and stays text: a call that is missed costs a turn, an example that is run may cost anything.
 */
import { isRecord, parseValue, plainValue } from './parse-arguments.ts';
import { readPythonCalls } from './python-calls.ts';

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
  if (inner.includes('```')) return null;
  if (/^[{[][\s\S]*[}\]]$/.test(inner)) {
    const value = plainValue(parseValue(inner));
    const values: unknown[] = Array.isArray(value) ? value : [value];
    const calls = values.map((entry) => jsonCall(entry, known));
    if (calls.length > 0 && calls.every((call) => call !== null)) return calls;
  }
  const spoken = marked ? readPythonCalls(inner) : null;
  if (spoken === null || !spoken.every(({ name }) => known.has(name))) return null;
  return spoken.map(({ name, fields }) => ({ name, arguments: JSON.stringify(fields) }));
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

const callStart = /<tool_call>|<function=/;

/** Tagged calls with prose around them; null as soon as anything looks like a call and is not one to run. */
function taggedCalls(text: string, known: KnownNames): RecoveredCalls | null {
  const calls: TextCall[] = [];
  const prose: string[] = [];
  let rest = text;
  for (;;) {
    const start = callStart.exec(withoutExamples(rest))?.index;
    if (start === undefined) break;
    const before = rest.slice(0, start);
    const block = readBlock(rest.slice(start), known);
    if (block === null || !standsAlone(before, rest.slice(start + block.length))) return null;
    prose.push(before);
    calls.push(block.call);
    rest = rest.slice(start + block.length);
  }
  prose.push(rest);
  const left = prose
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join('\n\n');
  if (calls.length === 0 || /<\/?(?:tool_call|function|parameter)\b/.test(left)) return null;
  return { calls, content: left };
}

/** Whether a call has its lines to itself, but for whole sentences and other calls before it. */
function standsAlone(before: string, after: string): boolean {
  const line = before.slice(before.lastIndexOf('\n') + 1).trim();
  return (line === '' || /[.!?…]$/.test(line)) && /^[^\S\n]*(?:\n|$|<tool_call>|<function=)/.test(after);
}

const examples = new RegExp(
  [
    // Fences, the last of them possibly left open.
    /(?:^|(?<=\n))[^\S\n]*(?<fence>`{3,}|~{3,})[\s\S]*?(?:\n[^\S\n]*\k<fence>|$)/,
    // Inline code within its paragraph.
    /(?<marks>`+)(?!`)(?:(?!\n\s*\n)[\s\S])*?[^`]\k<marks>(?!`)/,
    // Quoted and indented lines.
    /(?:^|(?<=\n))(?:[^\S\n]*>| {4}|\t)[^\n]*/,
    // What is marked as an example, as code or as thinking.
    /<(?<tag>code|pre|examples?|sample|think(?:ing)?|reasoning)\b[^>]*>[\s\S]*?(?:<\/\k<tag>>|$)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

/** The text with all that only shows something blanked out, in the same length. */
function withoutExamples(text: string): string {
  return text.replaceAll(examples, (example) => ' '.repeat(example.length));
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
  const { length, isWhole, isClosed } = jsonExtent(body);
  const json = body.slice(0, length).trim();
  // A closing tag proves that the call is complete, even where its last brace was eaten.
  const value = isWhole ? parseValue(json) : isClosed ? parseValue(`${json}}`) : undefined;
  const call = jsonCall(plainValue(value), known);
  return call === null ? null : { call, length };
}

/** How far the JSON goes that the text begins with: to its last brace, or to the next tag outside its strings. */
function jsonExtent(text: string): {
  readonly length: number;
  readonly isWhole: boolean;
  readonly isClosed: boolean;
} {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\[\s\S])*"|[{}[\]]|<\/?tool_call>/g)) {
    if (token.startsWith('<')) return { length: index, isWhole: false, isClosed: token === '</tool_call>' };
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
    if (depth <= 0 && !token.startsWith('"')) return { length: index + 1, isWhole: true, isClosed: false };
  }
  return { length: text.length, isWhole: false, isClosed: false };
}

const parameterEnd = /<\/parameter>(?=\s*(?:<parameter=|<\/function>|<\/tool_call>|$))/;

function functionBlock(body: string, known: KnownNames): Block | null {
  const head = /^<function=([A-Za-z0-9_.-]+)>\s*/.exec(body);
  const name = head?.[1] ?? '';
  if (head === null || !known.has(name)) return null;
  const fields = new Map<string, string>();
  let at = head[0].length;
  for (;;) {
    const open = /^\s*<parameter=([^>\n]+)>/.exec(body.slice(at));
    if (open === null) break;
    const from = at + open[0].length;
    const value = parameterValue(body.slice(from));
    fields.set((open[1] ?? '').trim(), value.text);
    at = from + value.length;
  }
  const close = /^\s*<\/function>/.exec(body.slice(at))?.[0] ?? '';
  return { call: { name, arguments: JSON.stringify(Object.fromEntries(fields)) }, length: at + close.length };
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
