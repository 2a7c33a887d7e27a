/**
 * Which broken requests were in flight on a process that was killed, told from the client's side alone, and which
 * were not, so that nothing excuses them. Pure.
 */
import type { MemberKind } from './cluster-plan.ts';
import type { Life } from './member.ts';

/** A request that broke; milliseconds since the epoch. */
export interface Broken {
  /** Whom it went to; null: to nobody. */
  readonly server: string | null;
  readonly startMs: number;
  readonly endMs: number;
  readonly why: string;
}

/**
 * A wait that a stopping mcp-server ends with an answer: nothing is lost, and the words say to make the call
 * again. One that is killed cannot say so.
 */
export function isToldToAskAgain({ why }: Broken): boolean {
  return why.includes('this server is stopping; runs are kept and go on, so make the same call again');
}

export interface Blame {
  /** In flight on a process when it was killed, by its name. */
  readonly excused: Readonly<Record<string, number>>;
  readonly inexcusable: readonly Broken[];
}

/**
 * A request was in flight on a killed process when it began before that was gone, and broke after it was told to
 * go. One that a process broke because it was asked to stop has no excuse.
 */
export function blameOf(broken: readonly Broken[], lives: readonly Life[]): Blame {
  const excused: Record<string, number> = {};
  const inexcusable: Broken[] = [];
  for (const one of broken) {
    const killed = lives.find((life) => wasInFlight(one, life));
    if (killed === undefined) inexcusable.push(one);
    else excused[killed.member] = (excused[killed.member] ?? 0) + 1;
  }
  return { excused, inexcusable };
}

function wasInFlight({ server, startMs, endMs }: Broken, life: Life): boolean {
  const { member, end, toldMs, goneMs } = life;
  if (end !== 'killed' || toldMs === null || server !== member) return false;
  return startMs <= (goneMs ?? Infinity) && endMs >= toldMs;
}

/** How the lives of one kind's processes ended. */
export interface Ends {
  readonly kind: MemberKind;
  readonly killed: number;
  readonly stopped: number;
  /** Asked to stop, and did not end by itself with exit code 0. */
  readonly stoppedBadly: readonly string[];
}

export function endsOf(kind: MemberKind, lives: readonly Life[]): Ends {
  const own = lives.filter((life) => life.kind === kind);
  const stopped = own.filter(({ end }) => end === 'stopped');
  return {
    kind,
    killed: own.filter(({ end }) => end === 'killed').length,
    stopped: stopped.length,
    stoppedBadly: stopped
      .filter(({ exitCode }) => exitCode !== 0)
      .map(({ member, exitCode }) => `${member} ended with ${exitCode ?? 'a signal'}`),
  };
}
