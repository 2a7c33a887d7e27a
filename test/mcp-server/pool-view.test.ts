import { describe, expect, it } from 'vitest';
import type { Caller } from '../../contracts/ids.ts';
import { policySchema } from '../../contracts/config-file.ts';
import { schedulerStatusSchema } from '../../contracts/scheduler-status.ts';
import { poolFor } from '../../mcp-server/runs/pool-client.ts';

const status = schedulerStatusSchema.parse({
  replicas: [
    {
      id: 'a',
      url: 'http://user:secret@10.0.0.1',
      engine: 'vllm',
      kind: 'generative',
      models: ['m'],
      apis: ['chat'],
      healthy: true,
      running: 1,
      waiting: 0,
      limit: null,
      inFlight: 1,
      pausedInteractive: 0,
      residency: {
        residents: 1,
        tokens: 10,
        capacityTokens: null,
        slots: null,
        capacityContexts: null,
        capacityReason: 'unlimited',
        reportedTokens: null,
        hits: 0,
        misses: 0,
      },
      refuses: null,
    },
  ],
  held: [
    { class: 'batch', caller: 'ann', turns: 1, oldestMs: 5 },
    { class: 'batch', caller: 'bob', turns: 2, oldestMs: 7 },
    { class: 'batch', caller: 'cy', turns: 3, oldestMs: 6 },
    { class: 'interactive', caller: 'bob', turns: 4, oldestMs: 1 },
  ],
  runsByPhase: { held: 10 },
  runs: ['ann', 'bob'].map((caller) => ({
    run: `run of ${caller}`,
    caller,
    class: 'batch',
    phase: 'held',
    replica: null,
    turns: 1,
    pauses: 0,
    replicas: [],
  })),
  proxies: 1,
  policy: policySchema.parse({}),
});

describe('the pool', () => {
  it('is shown whole to an admin', () => {
    expect(poolFor(status, { caller: 'ops' as Caller, seesAll: true })).toEqual(status);
  });

  it('shows others of other callers as one, and neither their runs nor where replicas are', () => {
    const pool = poolFor(status, { caller: 'ann' as Caller, seesAll: false });
    expect(pool.held).toEqual([
      { class: 'batch', caller: 'ann', turns: 1, oldestMs: 5 },
      { class: 'batch', caller: null, turns: 5, oldestMs: 7 },
      { class: 'interactive', caller: null, turns: 4, oldestMs: 1 },
    ]);
    expect(pool.runs.map(({ caller }) => caller)).toEqual(['ann']);
    expect(JSON.stringify(pool)).not.toMatch(/secret|"bob"|"cy"/);
  });
});
