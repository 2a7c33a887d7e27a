/**
 * What must be known of a stream and what its client must see, told by another way than the proxy's: over the
 * whole of its bytes at once, line by line, and from lists of what stands in its events. Slow and plain.
 */
import type { FuzzApi } from './random-events.ts';

type Json = Record<string, unknown>;

export interface Reading {
  readonly usage: { promptTokens: number; completionTokens: number } | null;
  readonly cachedTokens: number | null;
  readonly finishReason: string | null;
  readonly callsTools: boolean;
  readonly toolCallIds: ReadonlySet<string>;
  readonly toolNames: ReadonlySet<string>;
  readonly responseId: string | null;
  readonly outputPieces: number;
  readonly closed: boolean;
  readonly failed: boolean;
  readonly complete: boolean;
}

export interface WholeEvent {
  /** Offsets in the stream: its first field, behind its blank line, and before an LF that ends a CR LF there. */
  readonly start: number;
  readonly end: number;
  readonly judgedEnd: number;
  /** Its blank line came. */
  readonly terminated: boolean;
  readonly name: string;
  readonly data: string;
  /** The object that the data is, if it is one. */
  readonly json: Json | null;
}

const largestEvent = 4 * 1024 * 1024;
const largestJudged = 64 * 1024;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objects = (value: unknown): Json[] =>
  Array.isArray(value) ? (value as unknown[]).filter(isObject) : [];
const words = (value: unknown): string[] => (typeof value === 'string' && value.length > 0 ? [value] : []);
const counts = (value: unknown): number[] =>
  Number.isInteger(value) && (value as number) >= 0 ? [value as number] : [];
const errs = (value: Json): boolean => isObject(value['error']) || words(value['error']).length > 0;

export function wholeEvents(bytes: Buffer): WholeEvent[] {
  const text = bytes.toString('latin1');
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  const found: WholeEvent[] = [];
  let fields: string[] = [];
  let start = -1;
  let at = text.startsWith('\xef\xbb\xbf') ? 3 : 0;
  const close = (end: number, judgedEnd: number, terminated: boolean): void => {
    if (start >= 0) found.push({ start, end, judgedEnd, terminated, ...dispatched(fields) });
    fields = [];
    start = -1;
  };
  const breaks = /\r\n|\n|\r/g;
  breaks.lastIndex = at;
  for (;;) {
    const lineBreak = breaks.exec(text);
    const lineEnd = lineBreak?.index ?? text.length;
    if (lineEnd > at && (start >= 0 || text[at] !== ':')) {
      if (start < 0) start = at;
      fields.push(utf8.decode(bytes.subarray(at, lineEnd)));
    }
    if (lineBreak === null) break;
    const next = breaks.lastIndex;
    if (lineEnd === at) close(next, lineBreak[0] === '\r\n' ? next - 1 : next, true);
    at = next;
  }
  close(text.length, text.length, false);
  return found;
}

function dispatched(lines: readonly string[]): Pick<WholeEvent, 'name' | 'data' | 'json'> {
  const fields = lines
    .filter((line) => !line.startsWith(':'))
    .map((line) => /^([^:]*)(?:: ?)?([^]*)$/.exec(line) ?? ['', '', '']);
  const valuesOf = (name: string): string[] =>
    fields.flatMap(([, field, value]) => (field === name ? [value ?? ''] : []));
  const data = valuesOf('data').join('\n');
  let json: unknown = null;
  try {
    json = JSON.parse(data);
  } catch {
    // No JSON is read as nothing.
  }
  return { name: valuesOf('event').at(-1) ?? '', data, json: isObject(json) ? json : null };
}

/** The bytes that the client must see of a stream for which the proxy asked for usage. */
export function withoutUsage(bytes: Buffer, events: readonly WholeEvent[]): Buffer {
  const kept: Buffer[] = [];
  let at = 0;
  for (const event of readable(events)) {
    if (!isUsageOnly(event) || event.judgedEnd - event.start > largestJudged) continue;
    kept.push(bytes.subarray(at, event.start));
    at = event.end;
  }
  return Buffer.concat([...kept, bytes.subarray(at)]);
}

function isUsageOnly({ json, name }: WholeEvent): boolean {
  return (
    json !== null &&
    isObject(json['usage']) &&
    objects(json['choices']).length === 0 &&
    !isFailure(json, name)
  );
}

function isFailure(json: Json, name: string): boolean {
  return name === 'error' || errs(json) || json['object'] === 'error' || json['type'] === 'error';
}

/** Those before the first one that is too large to be read. */
function readable(events: readonly WholeEvent[]): readonly WholeEvent[] {
  const tooLarge = events.findIndex(({ data }) => data.length > largestEvent);
  return tooLarge < 0 ? events : events.slice(0, tooLarge);
}

export function readWhole(api: FuzzApi, events: readonly WholeEvent[]): Reading {
  const read = readable(events);
  const notes: Note[] = read.flatMap(({ json, name, data }) => {
    if (data === '[DONE]') return [{ closed: true }];
    return json === null ? [] : notesOf[api](json, name);
  });
  const calls = notes.flatMap(({ call }) => (call === undefined ? [] : [call]));
  const usages = notes.flatMap(({ usage }) => (usage === undefined ? [] : [usage]));
  const hints = notes.flatMap(({ hint }) => (hint === undefined ? [] : [hint]));
  const told = notes.flatMap(({ cached }) => (cached === undefined ? [] : [cached]));
  const reading: Reading = {
    usage: usages.at(-1) ?? hints.at(-1) ?? null,
    cachedTokens: told.reduce<number | null>(
      (known, { count, weak }) => (weak && known !== null ? known : count),
      null,
    ),
    finishReason: notes.flatMap(({ finish }) => finish ?? []).at(-1) ?? null,
    callsTools: calls.length > 0 || notes.some(({ pauses }) => pauses === true),
    toolCallIds: new Set([...new Set(calls.flatMap(([id]) => words(id)))].slice(0, 64)),
    toolNames: new Set(
      [...new Set(calls.flatMap(([, name]) => words(name).map((text) => text.slice(0, 256))))].slice(0, 64),
    ),
    responseId: notes.flatMap(({ responseId }) => responseId ?? [])[0] ?? null,
    outputPieces: notes.filter(({ piece }) => piece === true).length,
    closed: notes.some(({ closed }) => closed === true),
    failed: notes.some(({ failed }) => failed === true),
    complete: read.length === events.length,
  };
  return api === 'messages' ? { ...reading, ...anthropicUsage(read) } : reading;
}

export function isCut({ complete, closed, failed, finishReason }: Reading): boolean {
  return complete && !closed && !failed && finishReason === null;
}

/** What one thing in an event says. */
interface Note {
  readonly usage?: { promptTokens: number; completionTokens: number };
  readonly hint?: { promptTokens: number; completionTokens: number };
  /** `weak`: it does not go over what is known. */
  readonly cached?: { count: number; weak: boolean };
  readonly finish?: string[];
  readonly call?: readonly [id: unknown, name: unknown];
  readonly pauses?: boolean;
  readonly piece?: boolean;
  readonly closed?: boolean;
  readonly failed?: boolean;
  readonly responseId?: string[];
}

const notesOf: Record<FuzzApi, (event: Json, name: string) => Note[]> = {
  chat: choicesNotes,
  completions: choicesNotes,
  responses: responsesNotes,
  messages: messagesNotes,
};

function openAiUsage(usage: unknown): Note[] {
  if (!isObject(usage)) return [];
  const [promptTokens] = counts(usage['prompt_tokens'] ?? usage['input_tokens']);
  const [completionTokens = 0] = counts(usage['completion_tokens'] ?? usage['output_tokens']);
  const details = usage['prompt_tokens_details'] ?? usage['input_tokens_details'];
  const nested = isObject(details) ? details['cached_tokens'] : undefined;
  const [cached] = counts(nested ?? usage['prompt_cache_hit_tokens'] ?? usage['cached_tokens']);
  return [
    ...(promptTokens === undefined ? [] : [{ usage: { promptTokens, completionTokens } }]),
    ...(cached === undefined ? [] : [{ cached: { count: cached, weak: false } }]),
  ];
}

function choicesNotes(event: Json, name: string): Note[] {
  const { timings, x_groq: groq } = event;
  const timed = isObject(timings) ? timings : {};
  const [cached] = counts(timed['cache_n']);
  const [evaluated] = counts(timed['prompt_n']);
  const [predicted] = counts(timed['predicted_n']);
  return [
    { failed: isFailure(event, name) },
    ...objects(event['choices']).flatMap(choiceNotes),
    ...(cached === undefined ? [] : [{ cached: { count: cached, weak: true } }]),
    ...(evaluated === undefined || predicted === undefined
      ? []
      : [{ hint: { promptTokens: evaluated + (cached ?? 0), completionTokens: predicted } }]),
    ...openAiUsage(event['meta_info']),
    ...(isObject(groq) ? openAiUsage(groq['usage']) : []),
    ...openAiUsage(event['usage']),
  ];
}

function choiceNotes(choice: Json): Note[] {
  const reasons = words(choice['finish_reason']);
  const delta = isObject(choice['delta']) ? choice['delta'] : {};
  const calls = objects(delta['tool_calls']);
  const legacy = delta['function_call'];
  const output = ['content', 'reasoning_content', 'reasoning', 'refusal'].some(
    (field) => words(delta[field]).length > 0 || (Array.isArray(delta[field]) && delta[field].length > 0),
  );
  return [
    { finish: reasons, failed: reasons.some((reason) => /^(?:error|abort)$/.test(reason)) || errs(choice) },
    ...openAiUsage(choice['usage']),
    { piece: words(choice['text']).length > 0 },
    ...calls.map((call) => ({
      call: [call['id'], isObject(call['function']) ? call['function']['name'] : null] as const,
    })),
    ...(isObject(legacy) ? [{ call: [null, legacy['name']] as const }] : []),
    { piece: calls.length > 0 || output },
  ];
}

function responsesNotes(event: Json, name: string): Note[] {
  const [type = name] = words(event['type']);
  const { response, item } = event;
  const ending = /^response\.(completed|incomplete|failed|cancelled)$/.exec(type)?.[1];
  return [
    { failed: type === 'error' || isFailure(event, '') },
    ...(isObject(response) ? responseNotes(response) : []),
    ...itemNotes(item),
    { piece: type.endsWith('.delta') && words(event['delta']).length > 0 },
    ...(ending === undefined ? [] : closing(ending, isObject(response) ? response : {})),
  ];
}

function responseNotes(response: Json): Note[] {
  const [status = ''] = words(response['status']);
  const over = ['completed', 'incomplete', 'failed', 'cancelled'].includes(status);
  return [
    { responseId: words(response['id']) },
    ...openAiUsage(response['usage']),
    ...objects(response['output']).flatMap(itemNotes),
    ...(over ? closing(status, response) : []),
  ];
}

function closing(status: string, response: Json): Note[] {
  const details = response['incomplete_details'];
  const [reason = status] = status === 'incomplete' && isObject(details) ? words(details['reason']) : [];
  return [{ finish: [reason], closed: true, failed: status === 'failed' || status === 'cancelled' }];
}

function itemNotes(item: unknown): Note[] {
  if (!isObject(item)) return [];
  const [type = ''] = words(item['type']);
  if (type === 'mcp_approval_request') return [{ call: [item['id'], item['name']] }];
  const [callId = item['id']] = words(item['call_id']);
  const [toolName = type] = words(item['name']);
  const ours = /^(?:function|custom_tool|local_shell)_call$/.test(type) || words(item['call_id']).length > 0;
  return type.endsWith('_call') && ours ? [{ call: [callId, toolName] }] : [];
}

function messagesNotes(event: Json, name: string): Note[] {
  const [type = name] = words(event['type']);
  const { message, content_block: block, delta } = event;
  const output = isObject(delta) ? ['text', 'thinking', 'partial_json'].map((field) => delta[field]) : [];
  const stops = [message, delta].filter(isObject).flatMap((value) => words(value['stop_reason']));
  const blocks = [...(isObject(message) ? objects(message['content']) : []), ...objects([block])];
  return [
    { failed: type === 'error' || isFailure(event, '') },
    ...blocks
      .filter((value) => value['type'] === 'tool_use')
      .map((value) => ({ call: [value['id'], value['name']] as const })),
    { finish: stops, pauses: stops.includes('pause_turn') },
    { piece: output.some((value) => words(value).length > 0) },
    { closed: type === 'message_stop' },
  ];
}

/** The largest that was told of each part. */
function anthropicUsage(events: readonly WholeEvent[]): Pick<Reading, 'usage' | 'cachedTokens'> {
  const usages = events.flatMap(({ json }) => {
    const message = json?.['message'];
    return [isObject(message) ? message['usage'] : null, json?.['usage']].filter(isObject);
  });
  const most = (field: string): number | null => {
    const seen = usages.flatMap((usage) => counts(usage[field]));
    return seen.length === 0 ? null : Math.max(...seen);
  };
  const input = most('input_tokens');
  if (input === null) return { usage: null, cachedTokens: null };
  const [read, written] = [most('cache_read_input_tokens'), most('cache_creation_input_tokens')];
  return {
    usage: {
      promptTokens: input + (read ?? 0) + (written ?? 0),
      completionTokens: most('output_tokens') ?? 0,
    },
    cachedTokens: read,
  };
}
