/** Whose turn it is by the ids of tool calls, over every API that calls tools. */
import { describe, expect, it } from 'vitest';
import type { Caller, RunId } from '../../../contracts/ids.ts';
import type { Conversation } from '../../../proxy/identity/conversation.ts';
import { RunMemory, type RecognisedBy } from '../../../proxy/identity/run-memory.ts';
import { caseFile } from '../../case-file.ts';
import { factsOf, speeches, type Call, type Json, type Speech } from './speaking-agent.ts';

const caller = 'c' as Caller;

class Proxy {
  readonly #memory = new RunMemory({ maxEntries: 1_000, lifetimeMs: 1_000 });
  readonly #speech: Speech;

  constructor(speech: Speech) {
    this.#speech = speech;
  }

  /** The run that a request belongs to; null: a new one. */
  ask(items: readonly Json[]): { run: RunId; by: RecognisedBy } | null {
    return this.#memory.find(caller, this.#conversation(items), 0);
  }

  /** `run` is answered with these calls. */
  answer(items: readonly Json[], calls: readonly Call[], run: string): void {
    const { api } = this.#speech;
    const facts = factsOf(api, this.#speech.request(items), this.#speech.replyBody(calls));
    if (!facts.callsTools) throw new Error('the reader saw no call');
    this.#memory.remember(caller, this.#conversation(items).whole, facts, run as RunId, 0);
  }

  #conversation(items: readonly Json[]): Conversation {
    const body = Buffer.from(JSON.stringify(this.#speech.request(items)));
    return this.#speech.api.readRequest(body).conversation;
  }
}

const a01 = caseFile('A01');
const a03 = caseFile('A03');

/** The calls of a case's stored chat, one a turn. */
function callsOf(given: Readonly<Record<string, unknown>>): Call[] {
  const messages = given['messages'] as { tool_calls?: { id: unknown }[] }[];
  return messages.flatMap(({ tool_calls: calls }) => calls ?? []).map(({ id }, n) => ({ id, n }));
}

describe.each(speeches)('over $name', (speech) => {
  describe(`${a01.id} ${a01.title}`, () => {
    const calls = callsOf(a01.given);
    const task = speech.user('four steps');

    it('has four calls that all have one id', () => {
      expect(calls.map(({ id }) => id)).toEqual(['call_0', 'call_0', 'call_0', 'call_0']);
    });

    it('follows one run through turns that all use one id', () => {
      const proxy = new Proxy(speech);
      let items = task;
      expect(proxy.ask(items)).toBeNull();
      for (const call of calls) {
        proxy.answer(items, [call], 'run-A');
        items = [...items, ...speech.calls([call]), ...speech.results([call])];
        expect(proxy.ask(items)).toEqual({ run: 'run-A', by: 'tool-call' });
      }
    });

    it.each([
      ['the same conversation', task, task],
      ['two conversations, neither of which is its own', speech.user('one'), speech.user('two')],
    ])('names neither of two runs that emitted the id in %s', (_, first, second) => {
      const proxy = new Proxy(speech);
      const call = { id: 'call_0', n: 0 };
      proxy.answer(first, [call], 'run-A');
      proxy.answer(second, [call], 'run-B');
      expect(proxy.ask([...task, ...speech.calls([call]), ...speech.results([call])])).toBeNull();
    });

    it('names the one run that emitted it in this conversation', () => {
      const proxy = new Proxy(speech);
      const call = { id: 'call_0', n: 0 };
      proxy.answer(task, [call], 'run-A');
      proxy.answer(speech.user('another'), [call], 'run-B');
      const items = [...task, ...speech.calls([call]), ...speech.results([call])];
      expect(proxy.ask(items)).toEqual({ run: 'run-A', by: 'tool-call' });
    });

    it('tells two runs with the same words apart by ids of their own', () => {
      const proxy = new Proxy(speech);
      const mine = { id: 'id-a', n: 0 };
      proxy.answer(task, [mine], 'run-A');
      proxy.answer(task, [{ id: 'id-b', n: 0 }], 'run-B');
      const items = [...task, ...speech.calls([mine]), ...speech.results([mine])];
      expect(proxy.ask(items)).toEqual({ run: 'run-A', by: 'tool-call' });
    });
  });

  describe(`${a03.id} ${a03.title}`, () => {
    const calls = callsOf(a03.given);
    const odd = calls.filter(({ id }) => typeof id !== 'string' || id === '');

    it('has ids that are null, a number, empty, strange and long', () => {
      expect(calls.map(({ id }) => typeof id)).toEqual(['object', 'number', 'string', 'string', 'string']);
      expect(odd).toHaveLength(3);
    });

    it.each(calls)('follows its run past the call with id $id', (call) => {
      const proxy = new Proxy(speech);
      const task = speech.user('go');
      proxy.answer(task, [call], 'run-A');
      const items = [...task, ...speech.calls([call]), ...speech.results([call])];
      // An id that is none leaves the conversation to go by.
      const by = odd.includes(call) ? 'conversation' : 'tool-call';
      expect(proxy.ask(items)).toEqual({ run: 'run-A', by });
    });

    it.each(odd)('never takes the id $id for what tells two runs apart', (call) => {
      const proxy = new Proxy(speech);
      const task = speech.user('go');
      proxy.answer(task, [call], 'run-A');
      proxy.answer(task, [{ id: 'real', n: 0 }], 'run-B');
      expect(proxy.ask([...task, ...speech.calls([call]), ...speech.results([call])])).toBeNull();
    });

    it('tells ids apart that differ only behind their first thousand characters', () => {
      const proxy = new Proxy(speech);
      const task = speech.user('go');
      const long = (end: string): Call => ({ id: `call_${'x'.repeat(1_000)}${end}`, n: 0 });
      proxy.answer(task, [long('a')], 'run-A');
      proxy.answer(task, [long('b')], 'run-B');
      const items = [...task, ...speech.calls([long('b')]), ...speech.results([long('b')])];
      expect(proxy.ask(items)).toEqual({ run: 'run-B', by: 'tool-call' });
    });
  });

  it('follows a run by its conversation through replies without calls', () => {
    const proxy = new Proxy(speech);
    const first = speech.user('a');
    proxy.answer(first, [{ id: 'x', n: 0 }], 'run-A');
    const second = [...first, ...speech.reply('b'), ...speech.user('c')];
    expect(proxy.ask(second)).toEqual({ run: 'run-A', by: 'conversation' });
    proxy.answer(second, [{ id: 'y', n: 1 }], 'run-B');
    const third = [...second, ...speech.reply('d'), ...speech.user('e')];
    expect(proxy.ask(third)).toEqual({ run: 'run-B', by: 'conversation' });
  });

  it('binds the results of several calls to the one reply they came in', () => {
    const proxy = new Proxy(speech);
    const task = speech.user('go');
    const calls = [
      { id: 'p', n: 0 },
      { id: 'q', n: 1 },
    ];
    proxy.answer(task, calls, 'run-A');
    const items = [...task, ...speech.calls(calls), ...speech.results(calls)];
    expect(proxy.ask(items)).toEqual({ run: 'run-A', by: 'tool-call' });
  });
});
