/**
 * ThunderAgent's token budget, after what it publishes (ThunderAgent-org/ThunderAgent, `scheduler/router.py`
 * and `backend/state.py` in its capacity mode; arXiv 2602.13692), with its defaults: each replica may hold
 * programs of as many tokens as its reported KV capacity, 100 more counted for each. A program reasons (a turn
 * under way) or acts (its tools run), and is active on a replica or paused. A new program becomes active at
 * once if nobody is paused and it fits, on the replica with the fewest active tokens. Every 5 s: first paused
 * programs resume, those with a turn waiting before new ones before acting ones, smaller first, as many as fit
 * in all, placed largest first where most is left; then replicas over their budget pause acting programs,
 * smallest first, and mark reasoning ones, which pause when their turn ends. A turn of an active program goes
 * at once; one of a paused program waits until it resumes.
 *
 * Left out: the growth of a reply while it streams (counted when it ends), and the forced resume after 30
 * minutes. It knows no service classes.
 */
import type { Admission, Arm, ArmKind, ArmTurn } from './arm.ts';
import { highest } from './held-queue.ts';

const bufferTokens = 100;
const intervalMs = 5_000;

interface Program {
  readonly id: string;
  tokens: number;
  reasoning: boolean;
  turns: number;
  /** null: paused. */
  replica: number | null;
  /** The turn that waits for the resume. */
  held: ArmTurn | null;
  marked: boolean;
  pausedOrder: number;
}

class TokenBudget implements Arm {
  readonly probeIntervalMs = intervalMs;
  readonly #capacity: number[];
  readonly #programs = new Map<string, Program>();
  readonly #runOf = new Map<string, string>();
  #pausedOrder = 0;

  constructor(replicas: number) {
    this.#capacity = Array.from({ length: replicas }, () => 0);
  }

  arrived(turn: ArmTurn): readonly Admission[] {
    let program = this.#programs.get(turn.run);
    if (program === undefined) {
      program = {
        id: turn.run,
        tokens: turn.promptTokens,
        reasoning: true,
        turns: 0,
        replica: null,
        held: null,
        marked: false,
        pausedOrder: 0,
      };
      this.#programs.set(turn.run, program);
    }
    this.#runOf.set(turn.id, turn.run);
    program.turns += 1;
    program.tokens = turn.promptTokens;
    program.reasoning = true;
    if (program.turns === 1) program.replica = this.#replicaForNew(program);
    if (program.replica !== null) return [{ turn: turn.id, replica: program.replica }];
    program.held = turn;
    if (program.turns === 1) program.pausedOrder = this.#pausedOrder++;
    return [];
  }

  started(): readonly Admission[] {
    return [];
  }

  finished(turn: string, { promptTokens, outputTokens }: { promptTokens: number; outputTokens: number }) {
    const program = this.#programs.get(this.#runOf.get(turn) ?? '');
    this.#runOf.delete(turn);
    if (program === undefined) return [];
    program.reasoning = false;
    program.tokens = promptTokens + outputTokens;
    if (program.marked) this.#pause(program);
    return [];
  }

  runEnded(run: string): readonly Admission[] {
    this.#programs.delete(run);
    return [];
  }

  probed(probes: readonly { replica: number; capacityTokens: number }[]): readonly Admission[] {
    for (const { replica, capacityTokens } of probes) this.#capacity[replica] = capacityTokens;
    const admissions = this.#resume();
    for (const replica of this.#capacity.keys()) this.#pauseUntilSafe(replica);
    return admissions;
  }

  ticked(): readonly Admission[] {
    return [];
  }

  /** Tokens left on a replica; what is marked counts as gone. */
  #remaining(replica: number): number {
    let remaining = this.#capacity[replica] ?? 0;
    for (const program of this.#programs.values()) {
      if (program.replica !== replica) continue;
      remaining -= bufferTokens;
      if (!program.marked) remaining -= program.tokens;
    }
    return remaining;
  }

  #replicaForNew(program: Program): number | null {
    const needed = program.tokens + bufferTokens;
    for (const other of this.#programs.values()) if (other !== program && other.replica === null) return null;
    const fitting = [...this.#capacity.keys()].filter((replica) => this.#remaining(replica) >= needed);
    const active = (replica: number): number =>
      [...this.#programs.values()].reduce((sum, one) => sum + (one.replica === replica ? one.tokens : 0), 0);
    return highest(fitting, (replica) => -active(replica)) ?? null;
  }

  #pause(program: Program): void {
    program.replica = null;
    program.marked = false;
    program.pausedOrder = this.#pausedOrder++;
  }

  #resume(): Admission[] {
    const room = [...this.#capacity.keys()]
      .map((replica) => ({ replica, left: this.#remaining(replica) }))
      .filter(({ left }) => left > bufferTokens);
    let total = room.reduce((sum, { left }) => sum + left, 0);
    const chosen: Program[] = [];
    const paused = [...this.#programs.values()].filter((program) => program.replica === null);
    for (const program of paused.toSorted(resumesBefore)) {
      const needed = program.tokens + bufferTokens;
      if (needed > total) continue;
      total -= needed;
      chosen.push(program);
    }
    const admissions: Admission[] = [];
    for (const program of chosen.toSorted((a, b) => b.tokens - a.tokens)) {
      const target = highest(room, ({ left }) => left);
      if (target === undefined || target.left < program.tokens + bufferTokens) continue;
      target.left -= program.tokens + bufferTokens;
      program.replica = target.replica;
      if (program.held === null) continue;
      admissions.push({ turn: program.held.id, replica: target.replica });
      program.held = null;
    }
    return admissions;
  }

  #pauseUntilSafe(replica: number): void {
    const here = [...this.#programs.values()]
      .filter((program) => program.replica === replica && !program.marked)
      .toSorted((a, b) => Number(a.reasoning) - Number(b.reasoning) || a.tokens - b.tokens);
    for (const program of here) {
      if (this.#remaining(replica) >= 0) return;
      if (program.reasoning) program.marked = true;
      else this.#pause(program);
    }
  }
}

/** Waiting turns of known programs, new programs, acting ones; smaller first, then the one paused first. */
function resumesBefore(a: Program, b: Program): number {
  const group = (program: Program): number => (program.turns === 1 ? 1 : program.reasoning ? 0 : 2);
  return group(a) - group(b) || a.tokens - b.tokens || a.pausedOrder - b.pausedOrder;
}

export const thunderAgentTokenBudget: ArmKind = {
  name: 'thunderagent-token-budget',
  about: "programs within the KV capacity, paused and resumed every 5 s (ThunderAgent's, re-implemented)",
  create: ({ replicas }) => new TokenBudget(replicas),
};
