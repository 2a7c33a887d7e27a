/** Streams of chat chunks as different engines write them, drawn from a seed. */

export interface GeneratedStream {
  readonly name: string;
  readonly bytes: Buffer;
  /** What the client must see when the proxy has asked for usage on its behalf. */
  readonly seen: Buffer;
}

/** A small generator of even numbers in [0, 1), so that a failing stream can be made again. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return state / 2 ** 32;
  };
}

/** Short, because each stream is cut at each of its bytes. */
function chunk(delta: object, finishReason: string | null = null): object {
  return { id: 'c', choices: [{ delta, finish_reason: finishReason }] };
}

const words = [
  'Gr\u00fc\u00dfe',
  ' \u6771\u4eac',
  ' \ud83d\ude80',
  ' "choices":[]',
  ' usage',
  '\\n\\n',
  ' data: x',
  '\u2014',
];

export function generateStream(seed: number): GeneratedStream {
  const random = randomFrom(seed);
  const pick = <Item>(...items: readonly [Item, ...Item[]]): Item =>
    items[Math.floor(random() * items.length)] ?? items[0];
  const lineEnd = pick('\n', '\n', '\n', '\r\n', '\r');
  const space = pick(' ', ' ', '');
  const event = (value: unknown): string =>
    `data:${space}${typeof value === 'string' ? value : JSON.stringify(value)}${lineEnd}${lineEnd}`;
  const noise = (): string =>
    random() < 0.2
      ? pick(`: ping${lineEnd}${lineEnd}`, `event: ping${lineEnd}data:${lineEnd}${lineEnd}`, lineEnd)
      : '';

  let normal = '';
  for (let left = Math.floor(random() * 5); left > 0; left--) {
    normal +=
      noise() +
      event(
        chunk(
          random() < 0.8
            ? { content: pick(...(words as [string])) }
            : { tool_calls: [{ index: 0, function: { arguments: pick(...(words as [string])) } }] },
        ),
      );
  }
  const finish = random() < 0.9;
  if (finish)
    normal +=
      noise() +
      event({
        ...chunk({}, pick('stop', 'tool_calls', 'length')),
        ...pick<object>({}, { usage: null }, { usage: { prompt_tokens: 3 } }),
      });
  const usage = { prompt_tokens: 11, completion_tokens: 2, total_tokens: 13 };
  const usageOnly =
    finish && random() < 0.8
      ? event({
          ...chunk({}),
          ...pick<object>({ choices: [] }, { choices: null }, { choices: undefined }),
          usage,
          timings: { ms: 1 },
        })
      : '';
  const after =
    noise() +
    pick(
      '',
      event('[DONE]'),
      event('[DONE]') + lineEnd,
      event({ ...chunk({}), choices: [] }),
      `data:${space}[DONE]`,
    );
  return {
    name: `seed ${seed}`,
    bytes: Buffer.from(normal + usageOnly + after),
    seen: Buffer.from(normal + after),
  };
}
