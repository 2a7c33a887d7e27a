import { describe, expect, it } from 'vitest';
import { Gate } from '../../../bench/steps/gate.ts';
import { newTag, taskOf } from '../../../bench/steps/runs.ts';
import { createHolds, type Holds } from '../../../testkit/sim-engine/holds.ts';
import type { ReplyStream } from '../../../testkit/sim-engine/reply-stream.ts';
import type { RequestRecord } from '../../../testkit/sim-engine/request-log.ts';

const run = { steps: 3, tool: 'lookup' } as const;

/** As an engine does it with a request that came: whether its bytes may pass now. */
function arrive(holds: Holds, tag: string, turn: number): { passed(): boolean } {
  const replies = Array.from({ length: turn - 1 }, () => ({ role: 'assistant', content: '' }));
  const body = { messages: [{ role: 'user', content: taskOf(tag, run) }, ...replies] };
  let passed = true;
  const claimed = holds.claim({ body } as unknown as RequestRecord);
  if (claimed !== null) {
    passed = false;
    const stream = { release: () => (passed = true), cut: () => undefined };
    claimed.onStream(stream as unknown as ReplyStream);
  }
  return { passed: () => passed };
}

const settled = async (): Promise<void> => await new Promise(setImmediate);

describe('the gate at the engines', () => {
  it('holds first turns until all runs have come, wherever they went', async () => {
    const engines = [createHolds(), createHolds()] as const;
    const gate = new Gate(engines);
    const [one, two, three] = [newTag(), newTag(), newTag()];
    gate.close([one, two, three]);
    const first = [arrive(engines[0], one, 1), arrive(engines[0], two, 1)];
    await settled();
    expect(first.map((turn) => turn.passed())).toEqual([false, false]);
    const last = arrive(engines[1], three, 1);
    await settled();
    expect([...first, last].map((turn) => turn.passed())).toEqual([true, true, true]);
    expect(arrive(engines[0], one, 2).passed()).toBe(true);
  });

  it('lets others pass, and later turns', () => {
    const engine = createHolds();
    const gate = new Gate([engine]);
    const tag = newTag();
    gate.close([tag]);
    expect(arrive(engine, newTag(), 1).passed()).toBe(true);
    expect(arrive(engine, tag, 2).passed()).toBe(true);
    gate.open();
    expect(arrive(engine, tag, 1).passed()).toBe(true);
  });

  it('can be closed again and again', async () => {
    const engines = [createHolds(), createHolds()] as const;
    const gate = new Gate(engines);
    for (let wave = 0; wave < 30; wave += 1) {
      const tags = Array.from({ length: 60 }, newTag);
      gate.close(tags);
      const turns = tags.map((tag, index) => arrive(engines[index % 3 === 0 ? 0 : 1], tag, 1));
      expect(turns.some((turn) => turn.passed())).toBe(false);
      await settled();
      expect(turns.every((turn) => turn.passed())).toBe(true);
    }
  });
});
