/**
 * Streams of server-sent events drawn from a seed, in bytes and in the pieces in which they arrive: every
 * line end, comments anywhere, several data lines, fields in odd order, huge and empty events, broken
 * characters, ends amid anything.
 */
import { randomData, randomText, type FuzzApi } from './random-events.ts';
import { Random } from './random.ts';

export interface RandomStream {
  readonly api: FuzzApi;
  readonly pieces: readonly Buffer[];
  readonly bytes: Buffer;
  /** How the engine's connection ends. */
  readonly ending: 'end' | 'error';
}

const apis = ['chat', 'completions', 'responses', 'messages'] as const;

export function randomStream(seed: number): RandomStream {
  const random = new Random(seed);
  const api = apis[seed % apis.length] ?? 'chat';
  const bytes = randomBytes(api, random, seed);
  return { api, bytes, pieces: cut(bytes, random), ending: random.chance(0.05) ? 'error' : 'end' };
}

function randomBytes(api: FuzzApi, random: Random, seed: number): Buffer {
  const style = random.pick<'\n' | '\r\n' | '\r' | 'mixed'>('\n', '\n', '\n', '\r\n', '\r', 'mixed');
  const lineEnd = (): string => (style === 'mixed' ? random.pick('\n', '\r\n', '\r') : style);
  let text = random.chance(0.05) ? '\ufeff' : '';
  for (let left = random.below(9); left > 0; left--) text += block(api, random, lineEnd);
  if (random.chance(0.01)) text += `data: ${huge(random, 40_000)}${lineEnd()}${lineEnd()}`;
  // Rare, for its cost: an event beyond what is read at all.
  if (seed % 8_000 === 17) text += `data: {"x":"${'y'.repeat(5 * 1024 * 1024)}"}${lineEnd()}${lineEnd()}`;
  if (random.chance(0.7)) text += event(api, random, lineEnd);
  const whole = spoiled(Buffer.from(text), random);
  return random.chance(0.3) ? whole.subarray(0, random.below(whole.length + 1)) : whole;
}

function block(api: FuzzApi, random: Random, lineEnd: () => string): string {
  const kind = random.next();
  if (kind < 0.75) return event(api, random, lineEnd);
  if (kind < 0.85)
    return `:${random.pick('', ' ping', randomText(random).replaceAll('\n', ''))}${lineEnd()}${random.pick('', lineEnd())}`;
  if (kind < 0.9) return lineEnd();
  const lines = [
    `id: ${random.below(9)}`,
    'retry: 3000',
    'event: ping',
    'data',
    'data:',
    'foo: bar',
    ' data: x',
    'nothing',
  ];
  return `${random.pick(...(lines as [string]))}${lineEnd()}${random.pick('', lineEnd())}`;
}

function event(api: FuzzApi, random: Random, lineEnd: () => string): string {
  const data = random.chance(0.01) ? huge(random, 60_000) : randomData(api, random);
  const space = random.pick(' ', ' ', ' ', '', '  ');
  const dataLines = linesOf(data, random).map((line) => `data:${space}${line}`);
  const others = [
    ...(random.chance(0.3)
      ? [`event: ${random.pick('error', 'message_stop', 'response.completed', 'x', '')}`]
      : []),
    ...(random.chance(0.1) ? [`id: ${random.below(99)}`] : []),
    ...(random.chance(0.1) ? [`: in it ${random.pick('', '\u6771')}`] : []),
    ...(random.chance(0.05) ? [random.pick('foo: bar', 'retry: x', 'id')] : []),
  ];
  // The lines of data keep their order; what stands around them does not matter.
  const slots = random.shuffled([...others, ...dataLines.map(() => null)]);
  const lines = slots.map((slot) => slot ?? dataLines.shift() ?? '');
  return [...lines, ''].map((line) => `${line}${lineEnd()}`).join('');
}

/** One line, or several at places where JSON does not mind a line break. */
function linesOf(data: string, random: Random): string[] {
  if (!random.chance(0.1) || !data.startsWith('{')) return [data];
  try {
    return JSON.stringify(JSON.parse(data), null, 1).split('\n');
  } catch {
    return [data];
  }
}

/** Around the size beyond which an event is passed on unjudged. */
function huge(random: Random, least: number): string {
  const padding = 'z'.repeat(least + random.below(40_000));
  return JSON.stringify(
    random.pick<object>(
      { choices: [], usage: { prompt_tokens: 11, completion_tokens: 2 }, padding },
      { choices: [{ delta: { content: padding }, finish_reason: null }] },
      { type: 'content_block_delta', delta: { type: 'text_delta', text: padding } },
    ),
  );
}

/** Now and then with bytes that are no UTF-8; not within a mark at the beginning. */
function spoiled(bytes: Buffer, random: Random): Buffer {
  if (!random.chance(0.05) || bytes.length < 4) return bytes;
  const at = 3 + random.below(bytes.length - 3);
  const odd = random.pick([0xff], [0xc3], [0xf0, 0x9f], [0x80], [0xed, 0xa0, 0x80]);
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(odd), bytes.subarray(at)]);
}

function cut(bytes: Buffer, random: Random): Buffer[] {
  const size = random.pick(
    () => bytes.length,
    () => (bytes.length < 500 ? 1 : 997),
    () => 1 + random.below(Math.max(7, bytes.length >> 5)),
    () => 1 + random.below(Math.max(60, bytes.length)),
  );
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = Math.max(1, size());
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}
