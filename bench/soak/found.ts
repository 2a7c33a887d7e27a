/** What a soak has found. */
import type { Verdict } from '../durability/verdict.ts';
import type { Life } from '../operate/member.ts';
import type { FileSample } from './file-growth.ts';
import type { Sample } from './survivors.ts';

/** What is still held or in flight when nobody asks for anything any more, in words. */
export type LeftOver = readonly string[];

export interface SoakFound {
  readonly seconds: number;
  readonly restarts: number;
  readonly samples: readonly Sample[];
  readonly files: readonly FileSample[];
  readonly verdict: Verdict;
  /** Durable ones. */
  readonly runs: number;
  readonly agents: {
    readonly runs: number;
    readonly answered: number;
    readonly lost: number;
    readonly losses: readonly string[];
    readonly doubled: readonly string[];
    /** Asked again by the agent. */
    readonly brokenRequests: number;
  };
  readonly lives: readonly Life[];
  readonly left: LeftOver;
}
