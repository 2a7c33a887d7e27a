import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLiveTurns, type LiveTurn } from '../../activities/live-turns.ts';

const open = new AbortController().signal;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A turn whose text is in the test's hand. */
function writing(turns: ReturnType<typeof createLiveTurns>, run: string, turn: number) {
  const reply = { content: '', calls: [] as { id: string; name: string; arguments: string }[] };
  const { progress, end } = turns.begin(run, turn);
  return {
    end,
    write(text: string): void {
      const isFirst = reply.content === '' && reply.calls.length === 0;
      reply.content += text;
      if (isFirst) progress.begun(() => reply);
      else progress.grew();
    },
    call(name: string): void {
      reply.calls.push({ id: '', name, arguments: '' });
      progress.grew();
    },
  };
}

describe('what models are writing', () => {
  it('is told of a turn at work, from its request on, and of no other', async () => {
    const turns = createLiveTurns();
    expect(await turns.read('a', null, 9_000, open)).toBeNull();
    const one = writing(turns, 'a', 3);
    expect(await turns.read('a', null, 0, open)).toEqual({
      turn: 3,
      phase: 'asked',
      offset: 0,
      text: '',
      calls: [],
    });
    one.write('Hel');
    one.call('look');
    expect(await turns.read('a', null, 0, open)).toEqual({
      turn: 3,
      phase: 'writing',
      offset: 0,
      text: 'Hel',
      calls: ['look'],
    });
    expect(await turns.read('b', null, 0, open)).toBeNull();
    one.end();
    expect(await turns.read('a', null, 0, open)).toBeNull();
  });

  it('waits for more than is known, and tells what has come since', async () => {
    const turns = createLiveTurns();
    const one = writing(turns, 'a', 1);
    one.write('Hel');
    let told: LiveTurn | null | undefined;
    const asking = turns.read('a', { turn: 1, offset: 3 }, 9_000, open).then((live) => {
      told = live;
    });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(told).toBeUndefined();
    one.write('l');
    one.write('o');
    await vi.advanceTimersByTimeAsync(200);
    await asking;
    expect(told).toMatchObject({ turn: 1, offset: 3, text: 'lo' });
  });

  it('answers when the time is up, when the asker has gone, and when the turn ends', async () => {
    const turns = createLiveTurns();
    const one = writing(turns, 'a', 1);
    one.write('x');
    const known = { turn: 1, offset: 1 };
    const late = turns.read('a', known, 2_000, open);
    await vi.advanceTimersByTimeAsync(2_200);
    expect(await late).toMatchObject({ text: '', offset: 1 });
    const gone = new AbortController();
    const left = turns.read('a', known, 9_000, gone.signal);
    gone.abort();
    await vi.advanceTimersByTimeAsync(200);
    expect(await left).toMatchObject({ text: '' });
    const over = turns.read('a', known, 9_000, open);
    one.end();
    await vi.advanceTimersByTimeAsync(200);
    expect(await over).toBeNull();
  });

  it('tells another turn, and one that is tried again, from its beginning', async () => {
    const turns = createLiveTurns();
    const lost = writing(turns, 'a', 1);
    lost.write('long and lost');
    const waiting = turns.read('a', { turn: 1, offset: 13 }, 9_000, open);
    const again = writing(turns, 'a', 1);
    again.write('new');
    await vi.advanceTimersByTimeAsync(200);
    expect(await waiting).toMatchObject({ turn: 1, offset: 0, text: 'new' });
    // The end of the attempt that was lost is not the end of the one at work.
    lost.end();
    expect(await turns.read('a', { turn: 1, offset: 13 }, 0, open)).toMatchObject({ offset: 0, text: 'new' });
    again.end();
    writing(turns, 'a', 2).write('next');
    expect(await turns.read('a', { turn: 1, offset: 3 }, 9_000, open)).toMatchObject({
      turn: 2,
      text: 'next',
    });
  });

  it('tells a long text in pieces that join', async () => {
    const turns = createLiveTurns();
    const text = Array.from({ length: 150_000 }, (_, index) => String.fromCharCode(97 + (index % 26))).join(
      '',
    );
    writing(turns, 'a', 1).write(text);
    let read = '';
    for (let pieces = 0; pieces < 3; pieces += 1) {
      const live = await turns.read('a', { turn: 1, offset: read.length }, 0, open);
      expect(live?.offset).toBe(read.length);
      expect(live?.text.length).toBeLessThanOrEqual(64_000);
      read += live?.text ?? '';
    }
    expect(read).toBe(text);
  });

  it('keeps nobody waiting beyond a bound: more are answered at once', async () => {
    const turns = createLiveTurns();
    writing(turns, 'a', 1).write('x');
    const known = { turn: 1, offset: 1 };
    const waiting = Array.from(
      { length: 20 },
      async () => await turns.read('a', known, 60_000, new AbortController().signal),
    );
    expect(await turns.read('a', known, 60_000, open)).toMatchObject({ text: '' });
    await vi.advanceTimersByTimeAsync(61_000);
    expect(await Promise.all(waiting)).toHaveLength(20);
  });
});
