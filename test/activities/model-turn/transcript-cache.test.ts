import { describe, expect, it } from 'vitest';
import { createTranscriptCache } from '../../../activities/model-turn/transcript-cache.ts';
import type { AssistantMessage, ChatMessage, ToolMessage } from '../../../contracts/chat-messages.ts';
import { transcriptDigest } from '../../../contracts/transcript-digest.ts';

const task: ChatMessage = { role: 'user', content: 'task' };
const reply: AssistantMessage = {
  role: 'assistant',
  content: null,
  tool_calls: ['a', 'b'].map((id) => ({
    id,
    type: 'function',
    function: { name: 'lookup', arguments: '{}' },
  })),
};
const toolResult = (id: string, content: string): ToolMessage => ({
  role: 'tool',
  tool_call_id: id,
  content,
});
const reference = (messages: readonly ChatMessage[]) => ({
  length: messages.length,
  digest: transcriptDigest(messages),
});

const sent = (messages: readonly ChatMessage[]) => ({ messages, digest: transcriptDigest(messages) });

describe('the transcript cache', () => {
  it('answers with the messages once every call is answered, in call order', () => {
    const cache = createTranscriptCache();
    cache.replied('run', sent([task]), reply, [
      { id: 'a', name: 'lookup' },
      { id: 'b', name: 'lookup' },
    ]);
    const next = [task, reply, toolResult('a', '1'), toolResult('b', '2')];
    expect(cache.find('run', reference(next))).toBeNull();
    cache.answered('run', 'b', { content: '2' });
    cache.answered('run', 'a', { content: '1' });
    expect(cache.find('run', reference(next))).toEqual(next);
  });

  it('holds images of results, and weighs them', () => {
    const images = [{ mimeType: 'image/png', data: 'A'.repeat(2_000) }];
    const next: ChatMessage[] = [task, reply, { ...toolResult('a', '1'), images }, toolResult('b', '2')];
    const ask = (limit: number) => {
      const cache = createTranscriptCache(limit);
      cache.replied('run', sent([task]), reply, [
        { id: 'a', name: 'lookup' },
        { id: 'b', name: 'lookup' },
      ]);
      cache.answered('run', 'a', { content: '1', images });
      cache.answered('run', 'b', { content: '2' });
      return cache;
    };
    expect(ask(10_000).find('run', reference(next))).toEqual(next);
    const other = [
      task,
      reply,
      { ...toolResult('a', '1'), images: [{ ...images[0], data: 'B' }] },
      toolResult('b', '2'),
    ];
    expect(ask(10_000).find('run', reference(other as ChatMessage[]))).toBeNull();
    expect(ask(1_500).find('run', reference(next))).toBeNull();
  });

  it('knows the answers of refused calls', () => {
    const cache = createTranscriptCache();
    cache.replied('run', sent([task]), reply, [
      { id: 'a', name: 'x', refusal: { kind: 'unknown-tool', text: 'Error: no' } },
      { id: 'b', name: 'lookup' },
    ]);
    cache.answered('run', 'b', { content: '2' });
    const next = [task, reply, toolResult('a', 'Error: no'), toolResult('b', '2')];
    expect(cache.find('run', reference(next))).toEqual(next);
  });

  it('answers nothing but exactly what is asked for', () => {
    const cache = createTranscriptCache();
    cache.replied('run', sent([task]), { role: 'assistant', content: 'x' }, []);
    const other: ChatMessage[] = [task, { role: 'assistant', content: 'y' }];
    expect(cache.find('run', reference(other))).toBeNull();
    expect(cache.find('another', reference([task, { role: 'assistant', content: 'x' }]))).toBeNull();
  });

  it('finds every turn of a long run, and reads of a transcript only what is new', () => {
    const cache = createTranscriptCache();
    let reads = 0;
    const watched: ChatMessage = {
      role: 'user',
      get content() {
        reads += 1;
        return 'long ago';
      },
    };
    let messages: readonly ChatMessage[] = [watched];
    let { digest } = reference(messages);
    for (let turn = 0; turn < 20; turn += 1) {
      const answer: AssistantMessage = {
        role: 'assistant',
        content: `turn ${turn}`,
        tool_calls: reply.tool_calls,
      };
      cache.replied('run', { messages, digest }, answer, []);
      cache.answered('run', 'a', { content: `first ${turn}` });
      cache.answered('run', 'b', { content: `second ${turn}` });
      const next = [...messages, answer, toolResult('a', `first ${turn}`), toolResult('b', `second ${turn}`)];
      const asked = reference(next);
      reads = 0;
      const found = cache.find('run', asked);
      expect(reads).toBe(0);
      expect(found).toEqual(next);
      messages = found ?? [];
      ({ digest } = asked);
    }
  });

  it('gives nothing for messages whose digest is another, however it came about', () => {
    const cache = createTranscriptCache();
    const answer: AssistantMessage = { role: 'assistant', content: 'x' };
    cache.replied('run', { messages: [task], digest: transcriptDigest([answer]) }, answer, []);
    expect(cache.find('run', reference([task, answer]))).toBeNull();
  });

  it('forgets ended runs, and the oldest ones at its bound', () => {
    const cache = createTranscriptCache(1_000);
    const long: AssistantMessage = { role: 'assistant', content: 'z'.repeat(300) };
    for (const run of ['one', 'two', 'three']) cache.replied(run, sent([task]), long, []);
    const next = reference([task, long]);
    expect([cache.find('one', next), cache.find('three', next)]).toEqual([null, [task, long]]);
    cache.forget('three');
    expect(cache.find('three', next)).toBeNull();
  });

  it('forgets runs that went on elsewhere five minutes after it saw them last, and no others', () => {
    let now = 0;
    const cache = createTranscriptCache(undefined, () => now);
    const answer: AssistantMessage = { role: 'assistant', content: 'x' };
    const next = reference([task, answer]);
    for (const run of ['gone', 'slow']) cache.replied(run, sent([task]), answer, []);
    now = 4 * 60_000;
    expect(cache.find('slow', next)).not.toBeNull();
    now = 5 * 60_000 + 1;
    cache.replied('new', sent([task]), answer, []);
    expect(['gone', 'slow', 'new'].map((run) => cache.find(run, next) !== null)).toEqual([false, true, true]);
  });
});
