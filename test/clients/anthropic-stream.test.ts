import { createParser } from 'eventsource-parser';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { streamedReply, wholeReply } from './anthropic-stream.ts';
import type { AnthropicReply, Block } from './anthropic-stream.ts';

interface Event {
  type: string;
  index?: number;
  content_block?: Record<string, unknown>;
  delta?: Record<string, unknown>;
}

function eventsOf(reply: AnthropicReply): Event[] {
  const events: Event[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => {
      const parsed = JSON.parse(data) as Event;
      expect(parsed.type).toBe(event);
      events.push(parsed);
    },
  });
  for (const text of streamedReply(reply)) parser.feed(text);
  return events;
}

/** Puts blocks together as a client of the Messages API does. */
function reassembled(events: readonly Event[]): unknown[] {
  const blocks: Record<string, unknown>[] = [];
  const json = new Map<number, string>();
  for (const { type, index = -1, content_block, delta } of events) {
    if (type === 'content_block_start') blocks[index] = { ...content_block };
    const block = blocks[index];
    if (type === 'content_block_delta' && delta?.['type'] === 'text_delta' && block) {
      block['text'] = `${String(block['text'])}${String(delta['text'])}`;
    }
    if (delta?.['type'] === 'input_json_delta') {
      json.set(index, (json.get(index) ?? '') + String(delta['partial_json']));
    }
    if (type === 'content_block_stop' && block?.['type'] === 'tool_use') {
      block['input'] = JSON.parse(json.get(index) ?? '');
    }
  }
  return blocks;
}

const anyBlock: fc.Arbitrary<Block> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: fc.string({ unit: 'grapheme', minLength: 1 }) }),
  fc.record({
    type: fc.constant('tool_use' as const),
    id: fc.string({ minLength: 1 }),
    name: fc.string({ minLength: 1 }),
    input: fc
      .dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue())
      .map((input) => JSON.parse(JSON.stringify(input)) as object),
  }),
);
const replyOf = (blocks: readonly Block[]): AnthropicReply => ({
  id: 'msg_1',
  model: 'm',
  blocks,
  inputTokens: 3,
});

describe('a scripted Anthropic reply', () => {
  it('puts together to the same blocks, whatever they hold', () => {
    fc.assert(
      fc.property(fc.array(anyBlock, { minLength: 1, maxLength: 4 }), (blocks) => {
        expect(reassembled(eventsOf(replyOf(blocks)))).toEqual(blocks);
        expect(wholeReply(replyOf(blocks))).toMatchObject({ content: blocks });
      }),
    );
  });

  it('sends the events of the Messages API in their order', () => {
    const use: Block = { type: 'tool_use', id: 'toolu_1', name: 'spawn', input: {} };
    const types = eventsOf(replyOf([{ type: 'text', text: 'hello' }, use])).map(({ type }) => type);
    expect(types).toEqual([
      'message_start',
      'ping',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it('stops for tools exactly when it uses some', () => {
    const use: Block = { type: 'tool_use', id: 'toolu_1', name: 'spawn', input: {} };
    const reasonOf = (blocks: readonly Block[]): unknown =>
      eventsOf(replyOf(blocks)).find(({ type }) => type === 'message_delta')?.delta?.['stop_reason'];
    expect(reasonOf([{ type: 'text', text: 'hello' }, use])).toBe('tool_use');
    expect(reasonOf([{ type: 'text', text: 'hello' }])).toBe('end_turn');
  });
});
