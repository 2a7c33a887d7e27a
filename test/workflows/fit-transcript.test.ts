/** What a transcript may lose and what it never does; cases X01, X03 and X05 as far as a run elides. */
import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createTranscriptCache } from '../../activities/model-turn/transcript-cache.ts';
import type { AssistantMessage, ChatMessage } from '../../contracts/chat-messages.ts';
import { transcriptDigest } from '../../contracts/transcript-digest.ts';
import {
  appendMessages,
  fitTranscript,
  tellTooLarge,
  transcriptOf,
  type Transcript,
} from '../../workflows/transcript.ts';
import { caseFile } from '../case-file.ts';

// Random conversations by the hundred: on a busy machine they take their time.
vi.setConfig({ testTimeout: 60_000 });

const call = (...ids: readonly string[]): AssistantMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'read', arguments: '{}' } })),
});
const result = (id: string, content: string): ChatMessage => ({ role: 'tool', tool_call_id: id, content });
const isCall = (message: ChatMessage): message is AssistantMessage => message.role === 'assistant';

/** Ids in the order in which they stand: a call's, then its result's. */
function pairing(messages: readonly ChatMessage[]): {
  readonly orphans: string[];
  readonly unanswered: string[];
} {
  const open = new Set<string>();
  const orphans: string[] = [];
  for (const message of messages) {
    if (isCall(message)) for (const { id } of message.tool_calls ?? []) open.add(id);
    if (message.role === 'tool' && !open.delete(message.tool_call_id)) orphans.push(message.tool_call_id);
  }
  return { orphans, unanswered: [...open] };
}

const fixedOf = (messages: readonly ChatMessage[]): readonly ChatMessage[] =>
  messages.filter(({ role }) => role === 'system' || role === 'user');

/** Characters of one to six bytes of JSON each. */
const text = fc
  .tuple(fc.constantFrom('a', '"', '\u0001', 'é', '中', '😀'), fc.nat({ max: 3_000 }))
  .map(([character, length]) => character.repeat(length));
const round = fc.record({
  said: fc.option(text, { nil: null, freq: 3 }),
  results: fc.array(text, { minLength: 1, maxLength: 4 }),
});
const conversation = fc
  .record({ system: fc.option(text), task: text, rounds: fc.array(round, { maxLength: 30 }) })
  .map(({ system, task, rounds }): readonly ChatMessage[] => [
    ...(system === null ? [] : [{ role: 'system', content: system } as const]),
    { role: 'user', content: task },
    ...rounds.flatMap(({ said, results }, turn) => {
      const ids = results.map((_, index) => `c${turn}_${index}`);
      return [
        { ...call(...ids), content: said },
        ...results.map((one, index) => result(ids[index] ?? '', one)),
      ];
    }),
  ]);
const limits = fc
  .record({
    limit: fc.integer({ min: 3_000, max: 60_000 }),
    share: fc.double({ min: 0.5, max: 0.9, noNaN: true }),
  })
  .map(({ limit, share }) => ({ limit, target: Math.floor(limit * share) }));

/** Runs `check` on what remains of random conversations under random bounds, where anything does. */
function check(
  each: (given: Transcript, fitted: Transcript, bounds: { limit: number; target: number }) => void,
): void {
  fc.assert(
    fc.property(conversation, limits, (messages, { limit, target }) => {
      const given = transcriptOf(messages);
      const fitted = fitTranscript(given, limit, target);
      if (fitted !== null) each(given, fitted, { limit, target });
    }),
    { numRuns: 100 },
  );
}

describe('a transcript that is made to fit', () => {
  it('is within its bound, and its size and digest are true', () => {
    check((_, fitted, { limit }) => {
      expect(fitted.bytes).toBeLessThanOrEqual(limit);
      expect(fitted.digest).toBe(transcriptDigest(fitted.messages));
      expect(Math.abs(fitted.bytes - Buffer.byteLength(JSON.stringify(fitted.messages)))).toBeLessThanOrEqual(
        2,
      );
    });
  });

  it('keeps system prompt and task, and every call with its result', () => {
    check((given, fitted) => {
      expect(fixedOf(fitted.messages)).toEqual(fixedOf(given.messages));
      expect(pairing(fitted.messages)).toEqual({ orphans: [], unanswered: [] });
      expect(fitted.messages.length).toBeLessThanOrEqual(given.messages.length);
    });
  });

  it('loses replies from its oldest on only, each with its results, and says so in the first that is left', () => {
    check((given, fitted) => {
      const before = given.messages.filter(isCall);
      const after = fitted.messages.filter(isCall);
      expect(before.length - after.length).toBe(fitted.droppedRounds);
      expect(after.map(({ tool_calls: calls }) => calls)).toEqual(
        before.slice(fitted.droppedRounds).map(({ tool_calls: calls }) => calls),
      );
      expect(after.slice(1)).toEqual(before.slice(fitted.droppedRounds).slice(1));
      const noted =
        after[0]?.content?.startsWith('[earlier replies and their tool calls were left out') === true;
      expect(noted).toBe(fitted.droppedRounds > 0);
    });
  });

  it('is not made to fit a second time, nor when it fits already', () => {
    check((given, fitted, { limit, target }) => {
      expect(fitTranscript(fitted, limit, target)).toBe(fitted);
      expect(fitted === given).toBe(given.bytes <= limit);
    });
  });

  it('is down to its target, unless what is never left out and the newest round are more', () => {
    check((given, fitted, { limit, target }) => {
      if (given.bytes <= limit) return;
      const newest = fitted.messages.slice(fitted.messages.findLastIndex(isCall));
      const kept = transcriptOf([...fixedOf(fitted.messages), ...newest]).bytes;
      expect(fitted.bytes).toBeLessThanOrEqual(Math.max(target, kept));
    });
  });

  it('never elides the newest round, which the model has not seen: its results are only cut', () => {
    check((given, fitted) => {
      const newest = (messages: readonly ChatMessage[]) =>
        messages
          .slice(messages.findLastIndex(isCall))
          .flatMap((one) => (one.role === 'tool' ? [one.content] : []));
      const before = newest(given.messages);
      for (const [index, content] of newest(fitted.messages).entries()) {
        const whole = before[index] ?? '';
        const isCut = /\n\[about \d+ of \d+ bytes were cut here\]\n/.test(content);
        expect(isCut || content === whole).toBe(true);
      }
    });
  });

  it('is what a worker that saw every turn holds as well, and after a loss what it asks for again', () => {
    fc.assert(
      fc.property(conversation, limits, (messages, { limit, target }) => {
        const cache = createTranscriptCache();
        let transcript = transcriptOf(fixedOf(messages));
        let queries = 0;
        let losses = 0;
        for (const [index, reply] of messages.entries()) {
          if (!isCall(reply)) continue;
          const fitted = fitTranscript(transcript, limit, target);
          if (fitted === null) return;
          if (fitted !== transcript) losses += 1;
          const reference = { length: fitted.messages.length, digest: fitted.digest };
          const held = cache.find('run', reference);
          if (held === null) queries += 1;
          const sent = held ?? fitted.messages;
          expect(sent).toEqual(fitted.messages);
          cache.replied('run', { messages: sent, digest: fitted.digest }, reply, []);
          const answers = messages.slice(index + 1, index + 1 + (reply.tool_calls?.length ?? 0));
          for (const answer of answers) {
            if (answer.role === 'tool')
              cache.answered('run', answer.tool_call_id, { content: answer.content });
          }
          transcript = appendMessages(fitted, [reply, ...answers]);
        }
        // The first turn of a run is in no cache.
        expect(queries).toBeLessThanOrEqual(1 + losses);
      }),
      { numRuns: 100 },
    );
  });

  it('has its replies counted over several losses, as its ids may come up again', () => {
    let transcript = transcriptOf([{ role: 'user', content: 'task' }]);
    let passes = 0;
    for (let turn = 0; turn < 600; turn += 1) {
      const id = `c${turn}`;
      transcript = appendMessages(transcript, [call(id), result(id, 'short')]);
      const fitted = fitTranscript(transcript, 30_000, 20_000);
      expect(fitted).not.toBeNull();
      if (fitted !== null && fitted !== transcript) passes += 1;
      transcript = fitted ?? transcript;
    }
    const left = transcript.messages.filter(isCall).length;
    expect(transcript.droppedRounds + left).toBe(600);
    // One turn is some 170 bytes: a pass makes room for some sixty.
    expect(passes).toBeGreaterThan(5);
    expect(passes).toBeLessThan(20);
  });
});

const x01 = caseFile('X01');

describe(`${x01.id} ${x01.title}`, () => {
  const variants = x01.given['variants'] as Readonly<Record<string, { messages: readonly ChatMessage[] }>>;
  const each = x01.expect['each'] as Readonly<Record<string, unknown>>;

  it.each(Object.keys(variants))('%s: whatever the bound, no half of a call is left', (name) => {
    const given = transcriptOf(variants[name]?.messages ?? []);
    let lost = 0;
    for (let limit = given.bytes; limit > 60; limit -= 7) {
      const fitted = fitTranscript(given, limit, Math.floor(limit * 0.9));
      if (fitted === null) continue;
      if (fitted !== given) lost += 1;
      const { orphans, unanswered } = pairing(fitted.messages);
      expect([orphans.length, unanswered.length]).toEqual([each['orphan_results'], each['unanswered_calls']]);
      expect(fitted.messages[0]).toEqual(given.messages[0]);
      const first = fitted.messages.find(({ role }) => role !== 'system')?.role;
      expect(each['first_non_system_role_in']).toContain(first);
      expect(fitted.bytes).toBeLessThanOrEqual(given.bytes);
    }
    expect(lost).toBeGreaterThan(0);
  });
});

const x03 = caseFile('X03');

describe(`${x03.id} ${x03.title}`, () => {
  const traces = x03.given['traces'] as Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** A message of about so many bytes of JSON. */
  const sized = (make: (content: string) => ChatMessage, bytes: number): ChatMessage => {
    const empty = transcriptOf([make('')]).bytes - 2;
    return make('x'.repeat(Math.max(0, bytes - empty)));
  };
  const task = (bytes: number) => sized((content) => ({ role: 'user', content }), bytes);
  const pair = (id: string, bytes: number) => [call(id), sized((content) => result(id, content), bytes)];

  it('fixed_too_big: ends at once with a named reason', () => {
    const { fixed = 0, trigger = 0 } = traces['fixed_too_big'] ?? {};
    const given = transcriptOf([task(fixed), ...pair('a', 800), ...pair('b', 700)]);
    expect(fitTranscript(given, trigger, Math.floor(trigger * 0.8))).toBeNull();
    const whole = transcriptOf([task(1_300_000), ...pair('a', 300_000)]);
    expect(fitTranscript(whole)).toBeNull();
    expect(tellTooLarge(whole)).toMatch(
      /task and system prompt are 1300000 bytes; give the run a smaller task/,
    );
  });

  it('fixed just below: is never made to fit in one turn after the other for ever', () => {
    const { trigger = 0 } = traces['fixed_too_big'] ?? {};
    fc.assert(
      fc.property(
        fc.double({ min: 0.1, max: 0.99, noNaN: true }),
        fc.integer({ min: 400, max: 3_000 }),
        (share, size) => {
          const target = Math.floor(trigger * 0.8);
          let transcript: Transcript | null = transcriptOf([task(target * share)]);
          let passes = 0;
          for (let turn = 0; turn < 100 && transcript !== null; turn += 1) {
            const grown: Transcript = appendMessages(transcript, pair(`c${turn}`, size));
            transcript = fitTranscript(grown, trigger, target);
            if (transcript !== grown) passes += 1;
          }
          // Each pass makes room for all of the distance but one newest round.
          const step = size + 200;
          expect(passes).toBeLessThanOrEqual(Math.ceil((100 * step) / (trigger - target - step)) + 1);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('ok: one pass is enough', () => {
    const { trigger = 0, fixed = 0, before = 0, after = 0 } = traces['ok'] ?? {};
    const rounds = Array.from({ length: 30 }, (_, turn) => pair(`c${turn}`, (before - fixed) / 30));
    const given = transcriptOf([task(fixed), ...rounds.flat()]);
    expect(given.bytes).toBeGreaterThan(trigger);
    const fitted = fitTranscript(given, trigger, after);
    expect(fitted?.bytes).toBeLessThanOrEqual(after);
    expect(fitTranscript(fitted ?? given, trigger, after)).toBe(fitted);
  });

  it('one_huge_result: is cut, and the conversation stays', () => {
    const { trigger = 0, fixed = 0, last_tool_result: last = 0, other = 0 } = traces['one_huge_result'] ?? {};
    const given = transcriptOf([task(fixed), ...pair('a', other), ...pair('b', last)]);
    expect(given.bytes).toBeGreaterThan(trigger);
    const fitted = fitTranscript(given, trigger, Math.floor(trigger * 0.95));
    expect(fitted?.messages.slice(0, -1)).toEqual(given.messages.slice(0, -1));
    expect(fitted?.messages.at(-1)?.content).toMatch(/\[about \d+ of \d+ bytes were cut here\]/);
    expect(fitted?.droppedRounds).toBe(0);
  });

  it('mid_loop: the turn that follows what went over is the first to find it smaller', () => {
    const { trigger = 0 } = traces['mid_loop'] ?? {};
    const steps = traces['mid_loop']?.['usage_by_step'] as unknown as readonly number[];
    const passes = steps.map((usage) => {
      const given = transcriptOf([task(1_000), ...pair('a', usage - 40_000), ...pair('b', 39_000)]);
      return fitTranscript(given, trigger, Math.floor(trigger * 0.8)) !== given;
    });
    const expected = x03.expect['mid_loop'] as { readonly compacts_before_call_after_step: number };
    expect(passes.indexOf(true)).toBe(expected.compacts_before_call_after_step - 1);
  });
});

const x05 = caseFile('X05');

describe(`${x05.id} ${x05.title}`, () => {
  it('rules and task stay word for word, and a skill that is left out says that it was', () => {
    const variants = x05.given['variants'] as Readonly<Record<string, { messages: readonly ChatMessage[] }>>;
    const messages = variants['with_skill']?.messages ?? [];
    const body = 'SKILL-BODY deploy: never skip step 3. '.repeat(20);
    const long = messages.map((message) =>
      message.role === 'tool' ? { ...message, content: body } : message,
    );
    const given = transcriptOf(long);
    let elided = 0;
    for (let limit = given.bytes; limit > 60; limit -= 7) {
      const fitted = fitTranscript(given, limit, limit - 50);
      if (fitted === null) continue;
      expect(fixedOf(fitted.messages)).toEqual(fixedOf(messages));
      const skills = fitted.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
      // Verbatim, or plainly gone: never a part that could be taken for the whole.
      const gone = skills.filter((skill) => skill !== body);
      expect(gone.filter((skill) => !/^\[\d+ bytes of this tool result were left out/.test(skill))).toEqual(
        [],
      );
      elided += gone.length;
    }
    expect(elided).toBeGreaterThan(0);
  });
});
