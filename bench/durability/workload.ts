/**
 * The runs that the durability bench keeps going: every kind of thing a run does, each run with words of its
 * own, so that what happened to it can be told from what was scripted. Pure.
 */
import {
  createGenerator,
  hashText,
  nextInteger,
  type Generator,
} from '../../testkit/sim-engine/core/random.ts';

export const runKinds = [
  'plain',
  'repeatable',
  'once',
  'parallel',
  'long stream',
  'approval',
  'tree',
  'budget kept',
  'budget exceeded',
] as const;
export type RunKind = (typeof runKinds)[number];

export interface ScriptedCall {
  readonly tool: 'lookup' | 'add_note' | 'wait' | 'delete_page';
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface PlannedRun {
  /** Unique among all runs, those below others too. */
  readonly index: number;
  readonly kind: RunKind;
  /** The calls of each turn but the last, which answers. */
  readonly turns: readonly (readonly ScriptedCall[])[];
  readonly answer: string;
  /** How it must end; `Cancelled`: by its budget, in the middle of its script. */
  readonly ends: 'Completed' | 'Cancelled';
  /** Arguments of `spawn`. */
  readonly request: Readonly<Record<string, unknown>>;
  /** Runs that its client starts below it. */
  readonly below: readonly PlannedRun[];
}

/** Tools that take effect anew with each call; the others may be repeated. */
export function isOnce(tool: string): boolean {
  return tool !== 'lookup';
}

/** The number of the run whose task this is; null: of none. */
export function indexOfTask(task: string): number | null {
  const found = /^Do the work of run (\d+)\./.exec(task)?.[1];
  return found === undefined ? null : Number(found);
}

/** Numbers from here on are of runs below others. */
const firstBelow = 1_000_000;
const mostBelow = 10;
const childrenOfTree = 3;
const kindsBelow: readonly RunKind[] = ['plain', 'repeatable', 'once'];

/** The run of this number; the same for the same seed. */
export function planRun(index: number, seed: number): PlannedRun {
  return planKind(runKinds[index % runKinds.length] ?? 'plain', index, seed);
}

function planKind(kind: RunKind, index: number, seed: number): PlannedRun {
  const generator = createGenerator(hashText(`run ${index}`, seed));
  const { turns, more } = scriptOf(kind, index, generator);
  const answer = answerOf(index, kind, generator);
  const task = `Do the work of run ${index}. [[sim ${JSON.stringify({ calls: turns, answer })}]]`;
  const below =
    kind === 'tree'
      ? Array.from({ length: childrenOfTree }, (_, position) =>
          planKind(
            kindsBelow[(index + position) % kindsBelow.length] ?? 'plain',
            firstBelow + index * mostBelow + position,
            seed,
          ),
        )
      : [];
  return {
    index,
    kind,
    turns,
    answer,
    ends: kind === 'budget exceeded' ? 'Cancelled' : 'Completed',
    request: { task, requestId: `durability-${seed}-${index}`, ...more },
    below,
  };
}

interface Script {
  readonly turns: PlannedRun['turns'];
  /** Arguments of `spawn`. */
  readonly more: Readonly<Record<string, unknown>>;
}

function scriptOf(kind: RunKind, index: number, generator: Generator): Script {
  const of = (name: string): string => `${name} of run ${index}`;
  const lookup = (name: string): ScriptedCall => ({ tool: 'lookup', arguments: { topic: of(name) } });
  const note = (name: string): ScriptedCall => ({ tool: 'add_note', arguments: { text: of(name) } });
  const deletion: ScriptedCall = { tool: 'delete_page', arguments: { page: of('page') } };
  const wait = (): ScriptedCall => ({
    tool: 'wait',
    arguments: { milliseconds: nextInteger(generator, 300, 2_500) },
  });
  switch (kind) {
    case 'plain':
      return { turns: [], more: {} };
    case 'repeatable':
      return { turns: [[lookup('first')], [lookup('second')]], more: { serviceClass: 'batch' } };
    case 'once':
      return { turns: [[note('first')], [wait()], [note('second')]], more: {} };
    case 'parallel':
      return {
        turns: [
          [wait(), note('first'), lookup('first')],
          [note('second'), wait()],
        ],
        more: { parallelToolCalls: true },
      };
    case 'long stream':
      return { turns: [[note('only')]], more: { maxTokens: 0 } };
    case 'approval':
      return { turns: [[note('first')], [deletion]], more: {} };
    case 'tree':
      return { turns: [[wait()]], more: {} };
    case 'budget kept':
      return { turns: [[note('first')], [wait()]], more: { budgetTokens: 200_000, budgetToolCalls: 20 } };
    case 'budget exceeded':
      return {
        turns: [[note('first')], [note('second')], [note('third')], [note('fourth')]],
        more: { budgetToolCalls: 2 },
      };
    default:
      return kind satisfies never;
  }
}

/** A long stream is an answer of many words; each is a token or two to the simulated engine. */
function answerOf(index: number, kind: RunKind, generator: Generator): string {
  const words = kind === 'long stream' ? nextInteger(generator, 400, 1_000) : nextInteger(generator, 5, 40);
  const filling = Array.from({ length: words }, (_, position) => `word${position}`);
  return `This is the answer of run ${index}. ${filling.join(' ')}`;
}
