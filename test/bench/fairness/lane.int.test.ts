/** Two lanes at once, for a few seconds: callers are told apart, and nothing is lost on the way. */
import { expect, it } from 'vitest';
import { runLanes, type LanePlan } from '../../../bench/fairness/lane.ts';
import { answerWaits, serviceByCaller } from '../../../bench/sim/measure.ts';
import { agents, memoryFor } from '../../../bench/sim/scenarios.ts';
import { makeWorkDir, toolsDir } from '../../../bench/site/work-dir.ts';

const quick = {
  toolCalls: { lowest: 1, highest: 1 },
  promptTokens: { lowest: 300, highest: 320 },
  tools: [{ name: 'lookup', share: 1, durationMs: { lowest: 20, highest: 30 } }],
};

it('runs callers over gateways of their own, and tells what each waited and got', async () => {
  const light = agents('interactive', 1, { ...quick, caller: 'light' });
  const heavy = agents('interactive', 2, { ...quick, caller: 'heavy' });
  const loads: LanePlan['loads'] = [
    { kind: 'poisson', runsPerMinute: 120, shape: light.shape },
    { kind: 'poisson', runsPerMinute: 240, shape: heavy.shape },
  ];
  const replicas = memoryFor(1, [light, heavy]);
  const plans: LanePlan[] = [
    { name: 'inflight', loads, replicas, gateway: { policy: {}, callers: {} } },
    {
      name: 'tokens',
      loads,
      replicas,
      gateway: { policy: { fairness: 'tokens' }, callers: { heavy: { weight: 2 } } },
    },
  ];
  const workDir = await makeWorkDir('lane-test');
  try {
    const site = { workDir: workDir.path, toolsDir, environment: process.env, progress: () => {} };
    const found = await runLanes(plans, [1], { warmUpMs: 0, windowMs: 3_000 }, site);
    expect(found.map(({ name }) => name)).toEqual(['inflight', 'tokens']);
    for (const { recording, failures, wrongReplies } of found) {
      expect(failures).toEqual({ count: 0, reasons: [] });
      expect(wrongReplies).toBe(0);
      expect(answerWaits(recording, ({ caller }) => caller === 'light').length).toBeGreaterThan(0);
      expect([...serviceByCaller(recording).keys()].toSorted()).toEqual(['heavy', 'light']);
    }
  } finally {
    await workDir.close();
  }
}, 120_000);
