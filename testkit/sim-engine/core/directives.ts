/**
 * Directives: a test writes `[[sim {JSON}]]` anywhere in the text of a user or system message and so
 * scripts the run that this conversation is. Several add up; a field of a later one replaces an earlier
 * one's. Tool names match in full or by the part after `__`, so `lookup` means `web__lookup` too.
 *
 * | field | value | meaning |
 * |---|---|---|
 * | `calls` | list of turns; a turn is a call or a list of calls (made side by side) | tool calls, turn by turn, then the answer; `[]` answers at once |
 * | | a call is a tool's name, or `{tool, arguments?, rawArguments?, shape?}` | `rawArguments` is sent as it stands |
 * | `parallel` | boolean | all of `calls` in one turn |
 * | `repeat` | number, or true for without end | how often `calls` are gone through; default 1 |
 * | `toolArguments` | `{tool: {…}}` | arguments of every call to that tool; else they are made from its schema |
 * | `shape` | `good`, `wrong-types`, `text`, `text-tags`, `broken-json`, `unknown-tool` | how calls are written, see call-shapes.ts |
 * | `preface` | text | said before the calls of each turn |
 * | `answer` | text | the final answer, word for word |
 * | `answerTokens` | number | length of the final answer, filled up or cut |
 * | `decide` | `{token: probability}` | what `top_logprobs` says of the first token |
 * | `fault` | one of the kinds below, or `{kind, …}`, or a list of them | what goes wrong |
 *
 * A fault's kinds: `drop` (connection closed before any byte), `stall` (`stallMs` without a byte, or until
 * the client leaves), `error` (`status`, default 500), `rate-limit` (429), `unavailable` (503), `cut`
 * (connection closed after `afterChunks` chunks, default 2; without streaming: within the body). 429 and
 * 503 carry `retryAfterSeconds`, default 1. `turn` (0 is the first turn of the run) limits it to one turn;
 * `times` to so many requests of that turn at this engine, so that a retry succeeds. Default: always.
 *
 * Turns are counted by tool results after the message that has `calls`, or after the first user message.
 * A directive that cannot be read is an error that names it: the host answers 400.
 */
import type { SimMessage } from './conversation.ts';

export const callShapes = [
  'good',
  'wrong-types',
  'text',
  'text-tags',
  'broken-json',
  'unknown-tool',
] as const;
export type CallShape = (typeof callShapes)[number];

export const faultKinds = ['drop', 'stall', 'error', 'rate-limit', 'unavailable', 'cut'] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface Fault {
  readonly kind: FaultKind;
  readonly turn?: number;
  readonly times?: number;
  readonly status?: number;
  readonly retryAfterSeconds?: number;
  readonly afterChunks?: number;
  readonly stallMs?: number;
}

export interface DirectedCall {
  readonly tool: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly rawArguments?: string;
  readonly shape?: CallShape;
}

export interface Directive {
  readonly calls?: readonly (readonly DirectedCall[])[];
  readonly repeat?: number;
  readonly toolArguments?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly shape?: CallShape;
  readonly preface?: string;
  readonly answer?: string;
  readonly answerTokens?: number;
  readonly decide?: Readonly<Record<string, number>>;
  readonly faults?: readonly Fault[];
  /** Index of the message that turns are counted from. */
  readonly from: number;
}

/** A directive that cannot be read; the message says which and why. */
export class DirectiveFault extends Error {
  override readonly name = 'DirectiveFault';
}

const opening = /\[\[sim\s+(?=\{)/g;

/** What the directives of a conversation say together. */
export function readDirectives(messages: readonly SimMessage[]): Directive {
  const firstUser = messages.findIndex((message) => message.role === 'user');
  let directive: Directive = { from: Math.max(0, firstUser) };
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'user' && message.role !== 'system') continue;
    for (const { json } of findDirectives(message.text)) {
      const fields = readFields(json);
      const from = fields.calls !== undefined && message.role === 'user' ? index : directive.from;
      directive = { ...directive, ...fields, from };
    }
  }
  return directive;
}

/** `text` without its directives: what a person would read. */
export function withoutDirectives(text: string): string {
  let rest = text;
  for (const { start, end } of findDirectives(text).toReversed())
    rest = rest.slice(0, start) + rest.slice(end);
  return rest.trim();
}

function findDirectives(text: string): { json: string; start: number; end: number }[] {
  if (!text.includes('[[sim')) return [];
  return [...text.matchAll(opening)].map((match) => {
    const start = match.index;
    const open = start + match[0].length;
    const close = endOfObject(text, open);
    const closing = close === null ? null : /^\s*\]\]/.exec(text.slice(close));
    if (close === null || closing === null) {
      throw new DirectiveFault(`directive '${text.slice(start, start + 60)}' does not end in '}]]'`);
    }
    return { json: text.slice(open, close), start, end: close + closing[0].length };
  });
}

/** Index after the brace that closes the one at `open`; null when there is none. */
function endOfObject(text: string, open: number): number | null {
  let depth = 0;
  let quoted = false;
  for (let index = open; index < text.length; index += 1) {
    const character = text[index];
    if (quoted) {
      if (character === '\\') index += 1;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === '{') depth += 1;
    else if (character === '}') {
      depth -= 1;
      if (depth === 0) return index + 1;
    }
  }
  return null;
}

type Fields = Omit<Directive, 'from'>;

function readFields(json: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new DirectiveFault(`directive '${json.slice(0, 60)}' is not JSON`);
  }
  const given = asObject(value, 'directive');
  const parallel = given['parallel'] === true;
  let fields: Fields = {};
  for (const [name, entry] of Object.entries(given)) {
    if (name === 'calls') fields = { ...fields, calls: readTurns(entry, parallel) };
    else if (name === 'fault') fields = { ...fields, faults: [entry].flat().map(readFault) };
    else if (name === 'repeat') {
      fields = { ...fields, repeat: entry === true ? Number.POSITIVE_INFINITY : asNumber(entry, name) };
    } else if (name === 'shape') fields = { ...fields, shape: asOneOf(callShapes, entry, name) };
    else if (name === 'answerTokens') fields = { ...fields, answerTokens: asNumber(entry, name) };
    else if (name === 'answer' || name === 'preface') fields = { ...fields, [name]: asText(entry, name) };
    else if (name === 'toolArguments' || name === 'decide') {
      fields = { ...fields, [name]: asObject(entry, name) };
    } else if (name !== 'parallel') throw new DirectiveFault(`directive has an unknown field '${name}'`);
  }
  return fields;
}

function readTurns(value: unknown, parallel: boolean): readonly (readonly DirectedCall[])[] {
  if (!Array.isArray(value)) throw new DirectiveFault(`directive field 'calls' must be a list`);
  const turns = value.map((turn: unknown) => [turn].flat().map(readCall));
  return parallel && turns.length > 0 ? [turns.flat()] : turns;
}

function readCall(value: unknown): DirectedCall {
  if (typeof value === 'string') return { tool: value };
  const given = asObject(value, 'calls');
  let call: DirectedCall = { tool: asText(given['tool'], 'tool') };
  for (const [name, entry] of Object.entries(given)) {
    if (name === 'arguments') call = { ...call, arguments: asObject(entry, name) };
    else if (name === 'rawArguments') call = { ...call, rawArguments: asText(entry, name) };
    else if (name === 'shape') call = { ...call, shape: asOneOf(callShapes, entry, name) };
    else if (name !== 'tool') throw new DirectiveFault(`a call has an unknown field '${name}'`);
  }
  return call;
}

const faultNumbers = ['turn', 'times', 'status', 'retryAfterSeconds', 'afterChunks', 'stallMs'];

/** Reads a fault as a directive has it: its kind, or an object with the kind and what limits it. */
export function readFault(value: unknown): Fault {
  if (typeof value === 'string') return { kind: asOneOf(faultKinds, value, 'fault') };
  const given = asObject(value, 'fault');
  let fault: Fault = { kind: asOneOf(faultKinds, given['kind'], 'kind') };
  for (const [name, entry] of Object.entries(given)) {
    if (faultNumbers.includes(name)) fault = { ...fault, [name]: asNumber(entry, name) };
    else if (name !== 'kind') throw new DirectiveFault(`a fault has an unknown field '${name}'`);
  }
  return fault;
}

function asObject<T>(value: unknown, name: string): Readonly<Record<string, T>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, T>;
  throw new DirectiveFault(`directive field '${name}' must be an object`);
}

function asNumber(value: unknown, name: string): number {
  if (typeof value === 'number' && value >= 0) return value;
  throw new DirectiveFault(`directive field '${name}' must be a number of at least 0`);
}

function asText(value: unknown, name: string): string {
  if (typeof value === 'string') return value;
  throw new DirectiveFault(`directive field '${name}' must be a text`);
}

function asOneOf<T extends string>(known: readonly T[], value: unknown, name: string): T {
  const found = known.find((entry) => entry === value);
  if (found !== undefined) return found;
  throw new DirectiveFault(`directive field '${name}' must be one of ${known.join(', ')}`);
}
