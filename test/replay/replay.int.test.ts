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
let faults: ReadonlyMap<string, Error>;

beforeAll(async () => {
  faults = await replayFaults(await makeWorkflowBundle(), histories);
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
