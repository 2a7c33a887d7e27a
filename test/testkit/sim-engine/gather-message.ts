/** The message that a stream of Anthropic's events adds up to, read as strictly as its clients may read it. */
import type { NamedEvent } from './engine-client.ts';

export interface Block {
  readonly type: string;
  text?: string;
  input?: unknown;
  readonly id?: string;
  readonly name?: string;
}

export interface Message {
  readonly content: Block[];
  readonly stop_reason: string | null;
  readonly usage: Record<string, number>;
}

interface Gathering {
  readonly message: Message;
  /** The block that deltas may add to. */
  open: { readonly index: number; readonly block: Block; json: string } | null;
  ended: boolean;
}

/** @throws Error where an event comes that may not come there. */
export function gatherMessage(events: readonly NamedEvent[]): Message {
  const [begin, ...rest] = events.filter(({ type }) => type !== 'ping');
  if (begin?.type !== 'message_start') throw new Error('the stream does not begin with message_start');
  const message = structuredClone(begin['message']) as Message;
  const gathering: Gathering = { message, open: null, ended: false };
  for (const event of rest) add(event, gathering);
  if (!gathering.ended) throw new Error('no message_stop');
  return message;
}

function add(event: NamedEvent, gathering: Gathering): void {
  const { message, open } = gathering;
  if (gathering.ended) throw new Error(`${event.type} after the end`);
  if (event.type.startsWith('content_block_')) {
    gathering.open = addToBlock(event, message, open);
    return;
  }
  if (open !== null) throw new Error(`${event.type} while a block is open`);
  if (event.type === 'message_delta') {
    Object.assign(message, event['delta']);
    Object.assign(message.usage, event['usage']);
  } else if (event.type === 'message_stop') gathering.ended = true;
  else throw new Error(`an unknown event ${event.type}`);
}

function addToBlock(event: NamedEvent, message: Message, open: Gathering['open']): Gathering['open'] {
  if (event.type === 'content_block_start') {
    const block = structuredClone(event['content_block']) as Block;
    const index = message.content.push(block) - 1;
    if (open !== null || event['index'] !== index) throw new Error(`block ${index} begins out of turn`);
    return { index, block, json: '' };
  }
  if (open === null || event['index'] !== open.index) throw new Error(`${event.type} of no open block`);
  if (event.type === 'content_block_stop') {
    if (open.block.type === 'tool_use') open.block.input = JSON.parse(open.json) as unknown;
    return null;
  }
  const delta = event['delta'] as { type: string; text: string; partial_json: string };
  const fits = open.block.type === 'text' ? 'text_delta' : 'input_json_delta';
  if (delta.type !== fits) throw new Error(`${delta.type} in a block of type ${open.block.type}`);
  if (delta.type === 'text_delta') open.block.text += delta.text;
  else open.json += delta.partial_json;
  return open;
}
