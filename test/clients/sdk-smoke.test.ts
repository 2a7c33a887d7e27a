import { describe, expect, it } from 'vitest';
import { isMet } from '../../bench/bars.ts';
import { readTold, smokeBars } from './sdk-smoke.ts';
import type { LoggedRun, LoggedTurn } from './turn-log.ts';

const loopOf = (run: string | null, streaming: boolean, ids: string): object => ({
  run,
  streaming,
  text: 'Looked up: heron.',
  calls: ['lookup'],
  runs: [ids, ids],
});
const all = {
  text: 'The word is heron.',
  pieces: ['The word ', 'is heron.'],
  loops: [
    loopOf(null, false, 'run_1'),
    loopOf('x-whole', false, 'x-whole'),
    loopOf(null, true, 'run_2'),
    loopOf('x-streaming', true, 'x-streaming'),
  ],
  unknownModel: { name: 'E', status: 404, message: "no generative replica serves model 'no-such-model'" },
  rateLimit: { name: 'E', status: 429, message: 'Too many requests.' },
  ownRateLimit: { name: 'E', status: 429, message: 'used up its limit of 1 requests a minute' },
};

function runOf(name: string, runBy: string, outcomes = ['paused', 'done']): LoggedRun {
  const turns = outcomes.map((outcome): LoggedTurn => ({
    run: `x/${name}`,
    runName: name,
    runBy,
    api: 'chat',
    model: 'm',
    replica: 'a',
    status: 200,
    outcome,
    reason: null,
    caller: 'x',
  }));
  const pauses = outcomes.filter((outcome) => outcome === 'paused').length;
  return { run: `x/${name}`, name, turns, pauses, replicas: ['a'] };
}
const logged = [
  runOf('run_1', 'tool-call'),
  runOf('x-whole', 'header'),
  runOf('run_2', 'tool-call'),
  runOf('x-streaming', 'header'),
];

/** Names of the bars that are missed. */
function missed(told: object, runs: readonly LoggedRun[] = logged): string[] {
  return smokeBars('x', readTold(JSON.stringify(told)), runs).flatMap((bar) => (isMet(bar) ? [] : bar.name));
}

describe('the smoke of a framework', () => {
  it('is met by a framework that does all of it', () => {
    expect(missed(all)).toEqual([]);
  });

  it('says so for a framework that hides its headers, and judges that one by the log alone', () => {
    const hidden = { ...all, loops: all.loops.map((loop) => ({ ...loop, runs: null })) };
    expect(missed(hidden)).toEqual([]);
    expect(missed(hidden, logged.slice(1))).not.toEqual([]);
  });

  it.each([
    ['an answer that lost a word', { text: 'The is heron.' }, 'x right answers'],
    ['a stream that came at once', { pieces: ['The word is heron.'] }, 'x pieces of the stream'],
    [
      'an unknown model without its words',
      { unknownModel: { name: 'E', status: 404, message: '404' } },
      'x unknown models told as such',
    ],
    ['a limit that was not kept', { ownRateLimit: null }, 'x rate limits of the proxy told as such'],
    [
      'a tool that was never called',
      { loops: all.loops.map((loop) => ({ ...loop, calls: [] })) },
      'x tool loops that ended right',
    ],
    [
      'two runs in one loop',
      { loops: all.loops.map((loop) => ({ ...loop, runs: ['run_1', 'run_9'] })) },
      'x loops whose responses name one run',
    ],
  ])('is missed by %s', (_what, change, name) => {
    expect(missed({ ...all, ...change })).toContain(name);
  });

  it('is missed when a loop became two runs, or did not pause', () => {
    const apart = [...logged.slice(1), runOf('run_1', 'new', ['paused']), runOf('run_3', 'new', ['done'])];
    expect(missed(all, apart)).toEqual([
      'x runs in the access log',
      'x runs without a header, of two turns and a pause',
    ]);
    const steady = [
      runOf('x-whole', 'header', ['done', 'done']),
      ...logged.filter(({ name }) => name !== 'x-whole'),
    ];
    expect(missed(all, steady)).toEqual(['x runs with a header, of two turns and a pause']);
  });

  it('is missed as a whole when the program told nothing', () => {
    expect(readTold('Traceback: no module named smoke\n')).toBeNull();
    const bars = smokeBars('x', null, []);
    expect(bars.filter(isMet)).toEqual([]);
  });

  it('is read from the last line that tells, whatever a framework prints beside it', () => {
    const told = `a warning\n${JSON.stringify(all)}\n{"another": "line"}\nbye\n`;
    expect(readTold(told)).toMatchObject({ text: all.text });
  });
});
