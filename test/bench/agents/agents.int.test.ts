import { afterEach, describe, expect, it } from 'vitest';
import { differences, startAgents } from '../../../bench/agents/agents.ts';
import { agents } from '../../../bench/sim/scenarios.ts';
import { startSimEngine, type SimEngine } from '../../../testkit/sim-engine/host.ts';

const open: SimEngine[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map(async (engine) => await engine.close()));
});

async function engineOf(): Promise<SimEngine> {
  const engine = await startSimEngine({ timeScale: 0, dialect: 'sglang' });
  open.push(engine);
  return engine;
}

const quick = { lowest: 1, highest: 3 };
const tools = [{ name: 'lookup', share: 1, durationMs: quick }];
const loads = [agents('batch', 3, { tools }), agents('interactive', 1, { tools })];

async function play(engine: SimEngine, named: boolean) {
  const crew = startAgents({
    baseUrl: engine.url,
    model: engine.model,
    loads: loads.map(({ shape }) => ({ kind: 'bursts', runs: 2, everyMs: 10, spreadMs: 1, shape })),
    arrivalsUntilMs: 5,
    seed: 11,
    dialogue: 'scripted',
    named,
  });
  await crew.ended();
  return await crew.stop();
}

describe('agents with their own loop', () => {
  it('do the planned work, the same each time, and tell who they are only when they shall', async () => {
    const [first, second] = [await engineOf(), await engineOf()];
    const one = await play(first, true);
    const other = await play(second, false);
    expect(one.wrongReplies + other.wrongReplies).toBe(0);
    expect(one.turns.filter((turn) => turn.finishedAtMs !== null)).toHaveLength(16);
    expect(differences(one.answers, other.answers)).toEqual({ compared: 4, different: 0 });
    expect(new Set(first.requests().map(({ runId }) => runId)).size).toBe(4);
    expect(second.requests().every(({ runId }) => runId === null)).toBe(true);
    expect(first.requests().map(({ headers }) => headers['x-fermata-class'])).toContain('interactive');
  });

  it('count a refused turn as a failed run, and go on', async () => {
    const engine = await engineOf();
    engine.failNext({ kind: 'unavailable' }, { times: 1 });
    const found = await play(engine, false);
    expect(found.failures).toMatchObject({ count: 1, reasons: [expect.stringContaining('503')] });
    expect(found.answers.size).toBe(3);
  });

  it('take a stream that breaks off for a failed run, and begin the next', async () => {
    const engine = await startSimEngine({ timeScale: 0 });
    open.push(engine);
    engine.failNext({ kind: 'cut' }, { times: 1 });
    const crew = startAgents({
      baseUrl: engine.url,
      model: engine.model,
      loads: [agents('batch', 1, { tools })],
      seed: 2,
      dialogue: 'scripted',
      named: false,
    });
    await engine.waitFor(() => engine.counts().failed === 1 && engine.counts().finished >= 4);
    const found = await crew.stop();
    expect(found.failures.count).toBe(1);
    expect(found.runs.filter((run) => run.failed)).toHaveLength(1);
  });
});

describe('a reply that is not the scripted one', () => {
  it('is counted: such arms did not do the same work', async () => {
    const engine = await startSimEngine({ timeScale: 0, script: { shapes: ['broken-json'] } });
    open.push(engine);
    const found = await play(engine, false);
    expect(found.wrongReplies).toBe(12);
  });
});

describe('differences between two arms', () => {
  it('are counted among the runs that ended in both', () => {
    const one = new Map([
      ['a', '1'],
      ['b', '2'],
      ['c', '3'],
    ]);
    const other = new Map([
      ['b', '2'],
      ['c', 'x'],
      ['d', '4'],
    ]);
    expect(differences(one, other)).toEqual({ compared: 2, different: 1 });
  });
});
