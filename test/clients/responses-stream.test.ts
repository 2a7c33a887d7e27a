import { createParser } from 'eventsource-parser';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { streamedResponse, wholeResponse } from './responses-stream.ts';
import type { OutputItem, ResponsesReply } from './responses-stream.ts';

type Event = { type: string; sequence_number: number } & Record<string, unknown>;

function eventsOf(reply: ResponsesReply): Event[] {
  const events: Event[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => {
      const parsed = JSON.parse(data) as Event;
      expect(parsed.type).toBe(event);
      events.push(parsed);
    },
  });
  for (const text of streamedResponse(reply)) parser.feed(text);
  return events;
}

/** Puts items together from the deltas alone, as a client that shows them while they come does. */
function fromDeltas(events: readonly Event[]): string[] {
  const texts: string[] = [];
  for (const event of events) {
    const index = Number(event['output_index'] ?? -1);
    if (event.type === 'response.output_item.added') texts[index] = '';
    if (event.type.endsWith('.delta')) texts[index] = `${texts[index]}${String(event['delta'])}`;
  }
  return texts;
}

const anyItem: fc.Arbitrary<OutputItem> = fc.oneof(
  fc.record({ type: fc.constant('message' as const), text: fc.string({ unit: 'grapheme', minLength: 1 }) }),
  fc.record({
    type: fc.constant('function_call' as const),
    callId: fc.string({ minLength: 1 }),
    name: fc.string({ minLength: 1 }),
    input: fc
      .dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue())
      .map((input) => JSON.parse(JSON.stringify(input)) as object),
  }),
);
const replyOf = (output: readonly OutputItem[]): ResponsesReply => ({
  id: 'resp_1',
  model: 'm',
  output,
  inputTokens: 3,
});

describe('a scripted reply of the Responses API', () => {
  it('says the same in its deltas, in its finished items and in the response at its end', () => {
    fc.assert(
      fc.property(fc.array(anyItem, { minLength: 1, maxLength: 4 }), (output) => {
        const events = eventsOf(replyOf(output));
        expect(fromDeltas(events)).toEqual(
          output.map((item) => (item.type === 'message' ? item.text : JSON.stringify(item.input))),
        );
        const done = events.filter(({ type }) => type === 'response.output_item.done');
        const last = events.at(-1)?.['response'] as Record<string, unknown>;
        expect(done.map(({ item }) => item)).toEqual(last['output']);
        expect(last).toEqual(JSON.parse(JSON.stringify(wholeResponse(replyOf(output)))));
      }),
    );
  });

  it('numbers its events from 0 without a gap', () => {
    const events = eventsOf(replyOf([{ type: 'message', text: 'hello' }]));
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  });

  it('sends the events of the Responses API in their order', () => {
    const call: OutputItem = { type: 'function_call', callId: 'call_1', name: 'spawn', input: {} };
    const types = eventsOf(replyOf([{ type: 'message', text: 'hello' }, call])).map(({ type }) =>
      type.replace('response.', ''),
    );
    expect(types).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
  });
});
