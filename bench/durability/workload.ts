/**
 * The runs that the durability bench keeps going: every kind of thing a run does, each run with words of its
 * own, so that what happened to it can be told from what was scripted. Pure.
 */
import { createGenerator, hashText, nextInteger, pick } from '../../testkit/sim-engine/core/random.ts';

export const runKinds = ['plain', 'repeatable', 'once', 'parallel', 'long stream'] as const;
export type RunKind = (typeof runKinds)[number];

export interface ScriptedCall {
  readonly tool: 'lookup' | 'add_note' | 'wait';
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface PlannedRun {
  readonly index: number;
  readonly kind: RunKind;
  /** The calls of each turn but the last, which answers. */
  readonly turns: readonly (readonly ScriptedCall[])[];
  readonly answer: string;
  /** Arguments of `spawn`. */
  readonly request: Readonly<Record<string, unknown>>;
}

/** Tools that take effect anew with each call; the others may be repeated. */
export function isOnce(tool: string): boolean {
  return tool === 'add_note' || tool === 'wait';
}

/** The number of the run whose task this is; null: of none. */
export function indexOfTask(task: string): number | null {
  const found = /^Do the work of run (\d+)\./.exec(task)?.[1];
  return found === undefined ? null : Number(found);
}

/** The run of this number; the same for the same seed. */
export function planRun(index: number, seed: number): PlannedRun {
  const generator = createGenerator(hashText(`run ${index}`, seed));
  const kind = runKinds[index % runKinds.length] ?? 'plain';
  const between = (lowest: number, highest: number): number => nextInteger(generator, lowest, highest);
  const lookup = (name: string): ScriptedCall => ({
    tool: 'lookup',
    arguments: { topic: `${name} of run ${index}` },
  });
  const note = (name: string): ScriptedCall => ({
    tool: 'add_note',
    arguments: { text: `${name} of run ${index}` },
  });
  const wait = (): ScriptedCall => ({ tool: 'wait', arguments: { milliseconds: between(300, 2_500) } });
  const answer = `This is the answer of run ${index}.`;
  const plan = (turns: PlannedRun['turns'], more: object = {}, directive: object = {}): PlannedRun => {
    const script = { calls: turns, answer: answerOf(answer, kind, between), ...directive };
    const task = `Do the work of run ${index}. [[sim ${JSON.stringify(script)}]]`;
    const request = { task, requestId: `durability-${seed}-${index}`, ...more };
    return { index, kind, turns, answer: script.answer, request };
  };
  switch (kind) {
    case 'plain':
      return plan([]);
    case 'repeatable':
      return plan([[lookup('first')], [lookup('second')]], { serviceClass: 'batch' });
    case 'once':
      return plan([
        [note('first')],
        [wait()],
        [note('second')],
        ...(pick(generator, [[], [[wait()]]]) ?? []),
      ]);
    case 'parallel':
      return plan(
        [
          [wait(), note('first'), lookup('first')],
          [note('second'), wait()],
        ],
        { parallelToolCalls: true },
      );
    case 'long stream':
      return plan([[note('only')]], { maxTokens: 0 });
    default:
      return kind satisfies never;
  }
}

/** A long stream is an answer of many words; each is a token to the simulated engine. */
function answerOf(
  answer: string,
  kind: RunKind,
  between: (lowest: number, highest: number) => number,
): string {
  const words = kind === 'long stream' ? between(400, 1_000) : between(5, 40);
  return `${answer} ${Array.from({ length: words }, (_, position) => `word${position}`).join(' ')}`;
}
