import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ReplicaId, RunId } from '../../../contracts/ids.ts';
import { chatConversation } from '../../../proxy/identity/chat-conversation.ts';
import { identifyRun, type IdentifiedRun } from '../../../proxy/identity/identify-run.ts';
import { readIdentityHeaders } from '../../../proxy/identity/identity-headers.ts';
import { RunMemory } from '../../../proxy/identity/run-memory.ts';
import { ownerKey, type RunName } from '../../../proxy/identity/scoped-run.ts';
import { caseFile } from '../../case-file.ts';

type Message = Record<string, unknown>;

const user = (content: string): Message => ({ role: 'user', content });
const reply = (content: string): Message => ({ role: 'assistant', content });
const step = (id: string, n: number): Message => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'step', arguments: JSON.stringify({ n }) } }],
});
const result = (id: string, content: string): Message => ({ role: 'tool', tool_call_id: id, content });

/** A proxy's identity alone: requests in, runs out, replies remembered. */
class Identity {
  readonly memory: RunMemory;
  nowMs = 0;
  #drawn = 0;

  constructor(options: { maxEntries?: number; lifetimeMs?: number } = {}) {
    this.memory = new RunMemory({ maxEntries: 1_000, lifetimeMs: 1_800_000, ...options });
  }

  ask(messages: readonly Message[], headers: Record<string, string> = {}): IdentifiedRun {
    const conversation = chatConversation({ model: 'm', tools: undefined, messages });
    return identifyRun(
      readIdentityHeaders(headers),
      conversation,
      this.memory,
      () => `new-${(this.#drawn += 1)}` as RunName,
      this.nowMs,
    );
  }

  /** Asks, and remembers that the run was answered with these tool calls. */
  turn(
    messages: readonly Message[],
    toolCallIds: readonly string[] = [],
    headers: Record<string, string> = {},
  ): IdentifiedRun {
    const asked = this.ask(messages, headers);
    const { whole } = chatConversation({ model: 'm', tools: undefined, messages });
    this.memory.remember(
      ownerKey(readIdentityHeaders(headers)),
      whole,
      { toolCallIds, responseId: null },
      asked.run,
      this.nowMs,
    );
    return asked;
  }
}

describe('the run of a turn', () => {
  it('is the one its header names, before anything else', () => {
    const identity = new Identity();
    identity.turn([user('a')], ['x1']);
    const headers = { 'x-fermata-run-id': 'mine', session_id: 's' };
    expect(identity.ask([user('a'), step('x1', 0), result('x1', 'r')], headers)).toMatchObject({
      run: 'mine',
      by: 'header',
    });
  });

  it('is the session of a known agent before anything in the body', () => {
    const identity = new Identity();
    identity.turn([user('a')], ['x1']);
    expect(identity.ask([user('a'), step('x1', 0), result('x1', 'r')], { session_id: 's' }).by).toBe(
      'session',
    );
  });

  it('is that of the tool calls it sends back', () => {
    const identity = new Identity();
    const first = identity.turn([user('same words')], ['id-a']);
    const second = identity.turn([user('same words')], ['id-b']);
    expect(first.run).not.toBe(second.run);
    expect(identity.ask([user('same words'), step('id-a', 0), result('id-a', 'r')])).toMatchObject({
      run: first.run,
      by: 'tool-call',
    });
    expect(identity.ask([user('same words'), step('id-b', 0), result('id-b', 'r')]).run).toBe(second.run);
  });

  it('is that of the longest beginning that was answered before', () => {
    const identity = new Identity();
    const first = identity.turn([user('a')]);
    const second = identity.turn([user('a'), reply('b'), user('c')]);
    expect(second).toMatchObject({ run: first.run, by: 'conversation' });
    const third = identity.ask([user('a'), reply('b'), user('c'), reply('d'), user('e')]);
    expect(third.run).toBe(first.run);
  });

  it('is new when the same words are asked again: a retry and another agent look alike', () => {
    const identity = new Identity();
    const first = identity.turn([user('a')]);
    expect(identity.ask([user('a')])).toMatchObject({ run: 'new-2', by: 'new' });
    expect(first.by).toBe('new');
  });

  it('is never shared between callers', () => {
    const identity = new Identity();
    const mine = identity.turn([user('a')], ['id-a'], { 'x-fermata-caller': 'me' });
    const next = [user('a'), step('id-a', 0), result('id-a', 'r')];
    expect(identity.ask(next, { 'x-fermata-caller': 'me' }).run).toBe(mine.run);
    expect(identity.ask(next, { 'x-fermata-caller': 'you' }).by).toBe('new');
    expect(identity.ask(next).by).toBe('new');
  });

  it('is new when a beginning was answered for two runs, and the tool calls do not tell', () => {
    const identity = new Identity();
    identity.turn([user('same words')]);
    identity.turn([user('same words')]);
    expect(identity.ask([user('same words'), reply('x'), user('y')]).by).toBe('new');
  });
});

const messagesSchema = z.object({ messages: z.array(z.record(z.string(), z.unknown())) }).loose();
const a01 = caseFile('A01');
const a03 = caseFile('A03');

describe(`${a01.id} ${a01.title}`, () => {
  const { messages } = messagesSchema.parse(a01.given);
  const { run_lookup: lookup } = z
    .looseObject({
      run_lookup: z.object({
        known: z.array(z.object({ run: z.string(), emitted_ids: z.array(z.string()) })),
        request_without_header_echoes: z.string(),
      }),
    })
    .parse(a01.given);

  it('never guesses between runs that emitted the same id, in one conversation or in several', () => {
    for (const beginning of [() => 'four steps', (run: string) => `of ${run}`]) {
      const identity = new Identity();
      for (const { run, emitted_ids: ids } of lookup.known) {
        identity.turn([user(beginning(run))], ids, { 'x-fermata-run-id': run });
      }
      const echoed = lookup.request_without_header_echoes;
      const asked = identity.ask([user('four steps'), step(echoed, 0), result(echoed, 'r')]);
      expect(asked.by).toBe('new');
      expect(lookup.known.map(({ run }) => run)).not.toContain(asked.run);
    }
  });

  it('follows one run through turns that all use call_0', () => {
    const identity = new Identity();
    const first = identity.turn(messages.slice(0, 1), ['call_0']);
    for (const length of [3, 5, 7]) {
      const next = identity.turn(messages.slice(0, length), ['call_0']);
      expect(next).toMatchObject({ run: first.run, by: 'tool-call' });
    }
    expect(identity.ask(messages)).toMatchObject({ run: first.run, by: 'tool-call' });
  });

  it('gives call_0 to neither of two runs that emitted it in the same conversation', () => {
    const identity = new Identity();
    identity.turn(messages.slice(0, 1), ['call_0'], { 'x-fermata-run-id': 'run-A' });
    identity.turn(messages.slice(0, 1), ['call_0'], { 'x-fermata-run-id': 'run-B' });
    expect(identity.ask(messages.slice(0, 3)).by).toBe('new');
  });

  it('gives call_0 to neither of two runs that emitted it in other conversations', () => {
    const identity = new Identity();
    identity.turn([user('one thing')], ['call_0'], { 'x-fermata-run-id': 'run-A' });
    identity.turn([user('another')], ['call_0'], { 'x-fermata-run-id': 'run-B' });
    expect(identity.ask(messages.slice(0, 3)).by).toBe('new');
  });

  it('gives an id of its own to the one run that emitted it', () => {
    const identity = new Identity();
    identity.turn(messages.slice(0, 1), ['call_0'], { 'x-fermata-run-id': 'run-A' });
    identity.turn([user('another')], ['call_0'], { 'x-fermata-run-id': 'run-B' });
    expect(identity.ask(messages.slice(0, 3)).run).toBe('run-A');
  });

  it('gives mixed results of two runs to neither by their ids', () => {
    const identity = new Identity();
    identity.turn([user('same')], ['a'], { 'x-fermata-run-id': 'run-A' });
    identity.turn([user('same')], ['b'], { 'x-fermata-run-id': 'run-B' });
    const both = [user('same'), step('a', 0), result('a', 'r'), result('b', 'r')];
    expect(identity.ask(both).by).toBe('new');
  });
});

describe(`${a03.id} ${a03.title}`, () => {
  const { messages } = messagesSchema.parse(a03.given);
  const ids = messages.flatMap((message) => ('tool_call_id' in message ? [message['tool_call_id']] : []));

  it('one run is followed through ids of any shape, and is the same when a request is sent twice', () => {
    const identity = new Identity();
    const first = identity.turn(messages.slice(0, 1), textIds([ids[0]]));
    for (let turns = 1; turns <= ids.length; turns += 1) {
      const soFar = messages.slice(0, 1 + 2 * turns);
      const asked = identity.turn(soFar, textIds([ids[turns]]));
      expect(asked.run).toBe(first.run);
      expect(identity.ask(soFar).run).toBe(first.run);
    }
  });

  it('no id of any shape makes a request a run of somebody else', () => {
    for (const [index, id] of ids.entries()) {
      const identity = new Identity();
      const pair = messages.slice(1 + 2 * index, 3 + 2 * index);
      identity.turn([user('mine')], textIds([id]), { 'x-fermata-run-id': 'run-A' });
      identity.turn([user('yours')], textIds([id]), { 'x-fermata-run-id': 'run-B' });
      expect(identity.ask([user('another'), ...pair]).by).toBe('new');
      expect(identity.ask([user('mine'), ...pair]).run).toBe('run-A');
      expect(identity.ask([user('yours'), ...pair]).run).toBe('run-B');
    }
  });
});

/** Ids as a reply's reader tells them: only texts are ids. */
function textIds(ids: readonly unknown[]): string[] {
  return ids.filter((id) => typeof id === 'string' && id !== '') as string[];
}

describe('what is remembered', () => {
  it('is forgotten after its lifetime, and a renewal prolongs it', () => {
    const identity = new Identity({ lifetimeMs: 100 });
    const first = identity.turn([user('a')]);
    const next = [user('a'), reply('b'), user('c')];
    identity.nowMs = 99;
    expect(identity.ask(next).run).toBe(first.run);
    identity.nowMs = 100;
    expect(identity.ask(next).by).toBe('new');
    identity.turn([user('x')]);
    identity.memory.sweep(identity.nowMs);
    expect(identity.memory.size).toBe(1);
  });

  it('is bounded in number: the oldest goes first', () => {
    const identity = new Identity({ maxEntries: 3 });
    const runs = ['a', 'b', 'c', 'd'].map((text) => identity.turn([user(text)]).run);
    expect(identity.memory.size).toBe(3);
    expect(identity.ask([user('a'), reply('x'), user('y')]).by).toBe('new');
    expect(identity.ask([user('b'), reply('x'), user('y')]).run).toBe(runs[1]);
  });

  it('goes with its run', () => {
    const identity = new Identity();
    const first = identity.turn([user('a')], ['id-a']);
    identity.turn([user('b')]);
    identity.memory.forget(first.run);
    expect(identity.ask([user('a'), step('id-a', 0), result('id-a', 'r')]).by).toBe('new');
    expect(identity.memory.size).toBe(1);
  });
});

describe('what is kept of a run', () => {
  /** A run of so many turns; returns the messages of each request. */
  function longRun(identity: Identity, turns: number): Message[][] {
    const requests: Message[][] = [[user('begin')]];
    for (let turn = 1; turn < turns; turn += 1) {
      requests.push([...(requests.at(-1) ?? []), reply(`r${turn}`), user(`u${turn}`)]);
    }
    for (const request of requests) identity.turn(request);
    return requests;
  }

  it('does not grow with its turns', () => {
    const identity = new Identity();
    longRun(identity, 100);
    expect(identity.memory.size).toBe(32);
    expect(identity.ask([user('other')]).by).toBe('new');
  });

  it('names it as it goes on and when it asks anew some turns back', () => {
    const identity = new Identity();
    const requests = longRun(identity, 80);
    const [first] = [identity.ask([...(requests.at(-1) ?? []), reply('r'), user('next')])];
    expect(first).toMatchObject({ run: 'new-1', by: 'conversation' });
    const back = requests.at(-20) ?? [];
    expect(identity.ask([...back, reply('r'), user('another way')])).toMatchObject({ run: 'new-1' });
  });

  it('holds every call of its newest reply, however many there are', () => {
    const identity = new Identity();
    longRun(identity, 40);
    const ids = Array.from({ length: 60 }, (_, index) => `call-${index}`);
    const run = identity.turn([user('fan out')], ids, { 'x-fermata-run-id': 'fan' });
    for (const id of ids) {
      const asked = identity.ask([user('fan out'), step(id, 1), result(id, 'r')]);
      expect(asked).toMatchObject({ run: run.run, by: 'tool-call' });
    }
  });

  it('is its newest conversations and every stored response, however many of these there are', () => {
    const memory = new RunMemory({ maxEntries: 1_000, lifetimeMs: 1_800_000 });
    const owner = ownerKey(readIdentityHeaders({}));
    const turns = Array.from({ length: 100 }, (_, turn) => turn);
    for (const turn of turns) {
      const names = { toolCallIds: [], responseId: `response-${turn}` };
      memory.remember(owner, `whole-${turn}`, names, 'stored' as RunId, 0, 'a' as ReplicaId);
    }
    expect(memory.size).toBe(132);
    expect(turns.filter((turn) => memory.keeperOf(owner, `response-${turn}`, 0) !== 'a')).toEqual([]);
    const continued = {
      prefix: [],
      promptTokens: 1,
      whole: 'next',
      answered: ['whole-99'],
      toolResults: null,
      previousResponse: null,
    };
    expect(memory.find(owner, continued, 0)).toMatchObject({ run: 'stored', by: 'conversation' });
    memory.forget('stored' as RunId);
    expect(memory.size).toBe(0);
  });
});
