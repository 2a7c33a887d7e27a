/**
 * What agents do: how many run, when runs begin, how long their prompts, replies and tools are. Everything
 * is drawn from a seed; the work of a run depends on nothing but seed, load, agent and number, so every
 * arm gets the same work whenever it gets to it.
 *
 * A prompt is never text: a block of tokens is known by a number that says whose it is and where it stands,
 * which is all that an engine's prefix cache or a router's prefix tree can tell.
 */
import type { ServiceClass } from '../../contracts/service-class.ts';
import {
  createGenerator,
  hashText,
  nextRandom,
  type Generator,
} from '../../testkit/sim-engine/core/random.ts';
import { blockTokens } from '../../testkit/sim-engine/core/tokens.ts';

/** Drawn evenly from `lowest` to `highest`, both included. */
export interface Range {
  readonly lowest: number;
  readonly highest: number;
}

export interface ToolKind {
  readonly name: string;
  /** Share of the calls; the shares of all kinds sum to 1. */
  readonly share: number;
  readonly durationMs: Range;
}

export interface RunShape {
  readonly class: ServiceClass;
  readonly caller: string;
  readonly toolCalls: Range;
  /** Tokens of a run's first prompt, a shared start included. */
  readonly promptTokens: Range;
  /** One of `prompts` system prompts of `tokens` tokens begins every prompt. */
  readonly shared?: { readonly prompts: number; readonly tokens: number };
  readonly outputTokens: Range;
  /** Tokens that a tool's result adds to the context. */
  readonly resultTokens: Range;
  readonly tools: readonly ToolKind[];
}

export interface ClosedLoad {
  readonly kind: 'closed';
  readonly agents: number;
  readonly shape: RunShape;
}

/**
 * `closed`: so many agents, each begins its next run when the last one has ended. `poisson`: runs arrive at
 * random. `bursts`: so many at once, spread over `spreadMs`, every `everyMs`.
 */
export type Load =
  | ClosedLoad
  | { readonly kind: 'poisson'; readonly runsPerMinute: number; readonly shape: RunShape }
  | {
      readonly kind: 'bursts';
      readonly runs: number;
      readonly everyMs: number;
      readonly spreadMs: number;
      readonly shape: RunShape;
    };

export interface TurnPlan {
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** null: the turn ends in the answer. */
  readonly tool: { readonly name: string; readonly durationMs: number } | null;
}

export interface RunPlan {
  readonly id: string;
  readonly class: ServiceClass;
  readonly caller: string;
  readonly turns: readonly TurnPlan[];
  /** One hash for each full block of the whole conversation; a turn's request is a beginning of it. */
  readonly blockHashes: readonly number[];
  /** Hashes in blocks of 1 KiB of text, as a proxy sends them; see {@link prefixOf}. */
  readonly prefix: readonly string[];
  /** Tokens that a proxy estimates for one that the engine counts. */
  readonly estimateRatio: number;
}

/** Tokens in a block of 1 KiB of text, at four bytes a token. */
const prefixBlockTokens = 256;
const maxPrefixBlocks = 64;
/** Blocks that one conversation or shared prompt can have; hashes stay exact integers. */
const maxBlocks = 65_536;

export function draw(generator: Generator, { lowest, highest }: Range): number {
  return lowest + nextRandom(generator) * (highest - lowest);
}

function drawInteger(generator: Generator, range: Range): number {
  return Math.min(range.highest, Math.floor(draw(generator, { ...range, highest: range.highest + 1 })));
}

function drawTool(generator: Generator, tools: readonly ToolKind[]): ToolKind | undefined {
  let left = nextRandom(generator);
  for (const tool of tools) {
    left -= tool.share;
    if (left < 0) return tool;
  }
  return tools.at(-1);
}

function drawTurns(generator: Generator, shape: RunShape): TurnPlan[] {
  const calls = drawInteger(generator, shape.toolCalls);
  const turns: TurnPlan[] = [];
  let promptTokens = drawInteger(generator, shape.promptTokens);
  for (let index = 0; index <= calls; index += 1) {
    const outputTokens = drawInteger(generator, shape.outputTokens);
    const kind = index < calls ? drawTool(generator, shape.tools) : undefined;
    const tool =
      kind === undefined ? null : { name: kind.name, durationMs: draw(generator, kind.durationMs) };
    turns.push({ promptTokens, outputTokens, tool });
    promptTokens += outputTokens + drawInteger(generator, shape.resultTokens);
  }
  return turns;
}

/**
 * The run that is number `index` of an agent (of a load whose runs arrive by themselves: of agent 0).
 * @param load place of its load in the scenario
 */
export function planRun(seed: number, load: number, agent: number, index: number, shape: RunShape): RunPlan {
  const generator = createGenerator(hashText(`run ${load} ${agent} ${index}`, seed));
  const turns = drawTurns(generator, shape);
  const last = turns.at(-1);
  const totalTokens = (last?.promptTokens ?? 0) + (last?.outputTokens ?? 0);
  // Owners are unique: shared prompts, the same for all loads, take the odd numbers, runs the even ones.
  const own = ((load * 1_024 + agent) * 8_192 + index) * 2;
  const shared = shape.shared;
  const sharedOwner = shared === undefined ? own : Math.floor(nextRandom(generator) * shared.prompts) * 2 + 1;
  const sharedTokens = shared?.tokens ?? 0;
  const ownerOf = (endTokens: number): number => (endTokens <= sharedTokens ? sharedOwner : own);
  const blocks = Math.floor(totalTokens / blockTokens);
  const prefixBlocks = Math.min(maxPrefixBlocks, Math.floor(totalTokens / prefixBlockTokens));
  return {
    id: `${load}-${agent}-${index}`,
    class: shape.class,
    caller: shape.caller,
    turns,
    blockHashes: Array.from(
      { length: blocks },
      (_, block) => ownerOf((block + 1) * blockTokens) * maxBlocks + block,
    ),
    prefix: Array.from(
      { length: prefixBlocks },
      (_, block) => `${ownerOf((block + 1) * prefixBlockTokens).toString(36)}.${block}`,
    ),
    estimateRatio: draw(generator, { lowest: 0.9, highest: 1.1 }),
  };
}

/** Prefix hashes of a prompt that is the first `promptTokens` tokens of the run's conversation. */
export function prefixOf(run: RunPlan, promptTokens: number): readonly string[] {
  return run.prefix.slice(0, Math.floor(promptTokens / prefixBlockTokens));
}

/** When the runs of a load that arrives by itself begin, in ms, in order, before `endMs`. */
export function arrivalTimes(
  load: Exclude<Load, { kind: 'closed' }>,
  endMs: number,
  generator: Generator,
): number[] {
  const times: number[] = [];
  if (load.kind === 'poisson') {
    const meanMs = 60_000 / load.runsPerMinute;
    let atMs = 0;
    for (;;) {
      atMs += -Math.log(1 - nextRandom(generator)) * meanMs;
      if (atMs >= endMs) return times;
      times.push(atMs);
    }
  }
  for (let startMs = 0; startMs < endMs; startMs += load.everyMs) {
    for (let run = 0; run < load.runs; run += 1) times.push(startMs + nextRandom(generator) * load.spreadMs);
  }
  return times.filter((atMs) => atMs < endMs).toSorted((a, b) => a - b);
}
