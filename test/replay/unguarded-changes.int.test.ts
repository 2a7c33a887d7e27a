/**
 * What replay of the stored histories is worth: changes that would break open runs must fail it, whichever
 * command they touch, and changes that break nothing must not.
 */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { caseFile } from '../case-file.ts';
import { bundleChanged, type Edit } from './changed-workflows.ts';
import { swappedOrder, swappedOrderOfNewRuns } from './order-change.ts';
import { replayFaults } from './replay.ts';
import { activityTypesOf, readStoredHistories } from './stored-histories.ts';

const d07 = caseFile('D07');
const { histories_to_keep: kept } = z
  .object({ histories_to_keep: z.array(z.string()) })
  .loose()
  .parse(d07.given);
/** A bundle takes two seconds, on a busy machine much more. */
const bundleMs = 240_000;

const stored = readStoredHistories();
/** A change is made to the code of today: older releases may not have what it touches. */
const newest = stored.at(-1)?.release;
const histories = stored.filter(({ release }) => release === newest);
const activityTypes = [...new Set(histories.flatMap((history) => [...activityTypesOf(history)]))].toSorted();

/** The case's words for a state, and ours. */
const statesOfCase: Readonly<Record<string, string>> = {
  waiting_for_approval: 'approval-open',
  two_children_one_done: 'tree-one-child-done',
  mid_turn_parallel_tools: 'mid-turn-parallel-tools',
  after_continue_as_new: 'continued-as-new',
  cancel_requested: 'cancel-requested',
};

async function faultsOf(changes: Parameters<typeof bundleChanged>[0]): Promise<ReadonlyMap<string, Error>> {
  return await replayFaults(await bundleChanged(changes), histories);
}

const inAgentRun = (from: RegExp, to: string): Edit => ({ file: 'agent-run.ts', from, to });
/** What a turn is asked for with, after the memo was written. */
const publishThenTurn = / publish\(\);\n *last = (\{ kind: 'turn', turn: await )(runTurn\(.*\))( \};)\n/;
const imported = (name: string): Edit =>
  inAgentRun(/ CancelledFailure,\n/, ` CancelledFailure,\n  ${name},\n`);

describe(`${d07.id} ${d07.title}`, () => {
  it.each(kept)('a run in the state %s is among the stored ones', (state) => {
    const ours = statesOfCase[state] ?? '';
    expect(histories.filter((history) => history.state.split('.')[0] === ours)).not.toEqual([]);
  });

  it(
    'replay of a copy that nothing was changed in passes',
    async () => expect(await faultsOf([])).toEqual(new Map()),
    bundleMs,
  );

  describe.each(activityTypes)('the activity type %s renamed, unguarded', (name) => {
    it(
      'fails for every run that has such an activity, and for no other',
      async () => {
        const faults = await faultsOf([{ name, becomes: `${name}Renamed` }]);
        const touched = histories.filter((history) => activityTypesOf(history).has(name));
        expect([...faults.keys()]).toEqual(touched.map((history) => history.name));
        for (const fault of faults.values()) {
          expect(fault.name).toBe('DeterminismViolationError');
          expect(fault.message).toContain(`${name}Renamed`);
        }
      },
      bundleMs,
    );
  });

  const changes: readonly (readonly [string, readonly Edit[]])[] = [
    ['two commands of one task in another order', swappedOrder],
    [
      'a turn asked for before the memo is written',
      [inAgentRun(publishThenTurn, ' const asked = $2;\npublish();\nlast = $1asked$3\n')],
    ],
    ['a command left out', [inAgentRun(publishThenTurn, ' last = $1$2$3\n')]],
    [
      'a timer more',
      [inAgentRun(publishThenTurn, ' publish();\nawait sleep(1000);\nlast = $1$2$3\n'), imported('sleep')],
    ],
    [
      'ids of children drawn at random',
      [
        { file: 'run-tree/children.ts', from: /workflowId: handle,/, to: 'workflowId: `run_${uuid4()}`,' },
        { file: 'run-tree/children.ts', from: / startChild,\n/, to: ' startChild,\n  uuid4,\n' },
      ],
    ],
    [
      'the calls of a reply one after the other where they ran side by side',
      [{ file: 'run-tools.ts', from: /if \(round\.parallel\)/, to: 'if (calls.length === 0)' }],
    ],
  ];

  it.each(changes)(
    'replay of a change fails the test: %s',
    async (_what, edits) => {
      const faults = await faultsOf(edits);
      expect(faults.size).toBeGreaterThan(0);
      for (const fault of faults.values()) expect(fault.name).toBe('DeterminismViolationError');
    },
    bundleMs,
  );

  it(
    'the same change behind patched() passes, so open runs go on as they began',
    async () => expect(await faultsOf(swappedOrderOfNewRuns)).toEqual(new Map()),
    bundleMs,
  );
});
