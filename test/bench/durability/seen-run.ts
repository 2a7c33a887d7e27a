/** Observations as the recorder makes them, of runs that went by the book. */
import type {
  EngineTurn,
  Kill,
  Observations,
  ObservedRun,
  ToolCallSeen,
} from '../../../bench/durability/recorder.ts';
import type { TranscriptMessage } from '../../../bench/durability/verdict.ts';
import { planRun, runKinds, type RunKind } from '../../../bench/durability/workload.ts';

/** The first run of a kind, from 1,000 ms to 9,000 ms. */
export function seenRun(kind: RunKind): ObservedRun {
  const plan = planRun(runKinds.indexOf(kind), 1);
  return {
    plan,
    handle: `run_${kind}`,
    startMs: 1_000,
    endMs: 9_000,
    status: plan.ends,
    result: plan.ends === 'Completed' ? plan.answer : null,
    reason: plan.ends === 'Completed' ? null : 'budget exceeded: toolCalls 2/2',
  };
}

/** What the run's transcript says when nothing went wrong. */
export function transcriptOf({ plan }: ObservedRun): TranscriptMessage[] {
  const turns = plan.turns.flatMap((calls, turn): TranscriptMessage[] => {
    const idOf = (position: number): string => `call_${turn}_${position}`;
    return [
      {
        role: 'assistant',
        tool_calls: calls.map((call, position) => ({
          id: idOf(position),
          function: { name: `desk__${call.tool}`, arguments: JSON.stringify(call.arguments) },
        })),
      },
      ...calls.map((_, position) => ({ role: 'tool', tool_call_id: idOf(position), content: 'done' })),
    ];
  });
  return [{ role: 'user', content: 'task' }, ...turns, { role: 'assistant', content: plan.answer }];
}

/** The calls of the run as the tool server saw them, one after the other. */
export function callsOf({ plan, handle }: ObservedRun): ToolCallSeen[] {
  return plan.turns.flatMap((calls, turn) =>
    calls.map((call, position) => ({
      run: handle ?? '',
      callId: `call_${turn}_${position}`,
      tool: call.tool,
      arguments: JSON.stringify(call.arguments),
      startMs: 2_000 + turn * 1_000,
      endMs: 2_500 + turn * 1_000,
      finished: true,
    })),
  );
}

export const turnAt = (run: ObservedRun, turn: number, from: Partial<EngineTurn> = {}): EngineTurn => ({
  run: run.handle ?? '',
  turn,
  startMs: 1_000 + turn * 1_000,
  endMs: 1_900 + turn * 1_000,
  finished: true,
  ...from,
});

export const killAt = (part: Kill['part'], atMs: number, backMs: number | null = atMs + 500): Kill => ({
  part,
  alone: true,
  atMs,
  backMs,
});

export function seen(from: Partial<Observations>): Observations {
  return { turns: [], calls: [], kills: [], clientCalls: [], runs: [], withoutTools: [], ...from };
}
