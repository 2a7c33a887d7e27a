/**
 * The workflows as they are now must replay the runs of every release. A change that does not is guarded
 * with `patched()` (docs/deploys.md), or runs that are open during a deploy break.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { makeWorkflowBundle } from '../../activities/bundle-workflows.ts';
import { replayFaults } from './replay.ts';
import { runStates } from './run-states.ts';
import { machineTraces } from './scrub-history.ts';
import { readStoredHistories } from './stored-histories.ts';

const histories = readStoredHistories();
let bundle: { readonly code: string };
let faults: ReadonlyMap<string, Error>;

beforeAll(async () => {
  bundle = await makeWorkflowBundle();
  faults = await replayFaults(bundle, histories);
}, 120_000);

describe('a run of an earlier build', () => {
  it.each(histories.map(({ name }) => name))('replays to the same commands: %s', (name) => {
    expect(faults.get(name)?.message).toBeUndefined();
  });
});

describe('the stored histories', () => {
  it.each([...new Set(histories.map(({ release }) => release))])(
    'of %s hold every state that its recorder knows',
    (release) => {
      const states = histories.filter((history) => history.release === release).map(({ state }) => state);
      for (const { name } of runStates) {
        expect(states.filter((state) => state === name || state.startsWith(`${name}.`))).not.toEqual([]);
      }
    },
  );

  it('tell nothing of the machine they were recorded on', () => {
    expect(
      histories.flatMap(({ name, events }) => machineTraces(events).map((found) => [name, found])),
    ).toEqual([]);
  });
});

describe('the bundle of the workflows', () => {
  /** Loaded anew for each run, and kept in memory as long as the run is. */
  const ownLimitBytes = 400_000;

  it('has the SDK in it and nothing else that is not ours', () => {
    const modules = [...bundle.code.matchAll(/^\/\*{3}\/ "([^"]+)"/gm)].map(([, module]) => module ?? '');
    const packages = new Set(
      modules.flatMap((module) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(module)?.[1] ?? []),
    );
    const known = ['@temporalio/common', '@temporalio/workflow', 'long', 'ms', 'nexus-rpc'];
    expect([...packages].filter((name) => !known.includes(name))).toEqual([]);
    expect(packages.size).toBeGreaterThan(2);
  });

  it('stays small', () => {
    const [code = ''] = bundle.code.split('//# sourceMappingURL');
    const modules = code.split(/^\/\*{3}\/ "/m).slice(1);
    const own = modules.filter((module) => /^\.\/(workflows|contracts)\//.test(module));
    expect(own.length).toBeGreaterThan(10);
    const bytes = own.reduce((sum, module) => sum + Buffer.byteLength(module), 0);
    expect(bytes).toBeLessThan(ownLimitBytes);
  });
});
