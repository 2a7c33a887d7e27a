/**
 * The list of one server's tools, kept until the server says that it changed or its time is up. One request
 * is made for all who ask at the same time; an answer to a question that was asked before a change never
 * replaces a newer one, and who waited for it gets the newer. Bounded: over three changes under one
 * question the last answer is given as it is, and not kept.
 */
import type { ServerTool } from './read-tools.ts';
import { unlessAborted } from './unless-aborted.ts';

export interface ToolList {
  readonly tools: readonly ServerTool[];
  readonly warnings: readonly string[];
  /** False: there may be tools that it does not name. */
  readonly complete: boolean;
}

export interface FetchedList {
  readonly list: ToolList;
  /** Milliseconds it is taken as it is. */
  readonly keepMs: number;
}

export interface ToolListKeeper {
  /** @throws what the fetch threw, or what the signal did. */
  get(signal: AbortSignal): Promise<ToolList>;
  /** The server said that it changed, or can no longer say so. */
  changed(): void;
  /** The list that holds now; null: it has to be asked for. */
  current(): ToolList | null;
  /** A change was told since the last list was had. */
  isOutdated(): boolean;
  /** The last list there was, whether it holds or not. */
  last(): ToolList | null;
}

const mostQuestions = 3;

/** @param fetch must be bounded by itself: it is shared, so no caller's signal ends it. */
export function createToolListKeeper(fetch: () => Promise<FetchedList>): ToolListKeeper {
  let generation = 0;
  let kept: { readonly list: ToolList; readonly untilMs: number } | null = null;
  let last: ToolList | null = null;
  let outdated = false;
  let inFlight: { readonly generation: number; readonly answer: Promise<ToolList> } | null = null;

  const ask = (): Promise<ToolList> => {
    const asked = generation;
    if (inFlight?.generation === asked) return inFlight.answer;
    const answer = fetch()
      .then(({ list, keepMs }) => {
        if (asked === generation) {
          kept = { list, untilMs: performance.now() + keepMs };
          last = list;
          outdated = false;
        }
        return list;
      })
      .finally(() => {
        if (inFlight?.answer === answer) inFlight = null;
      });
    answer.catch(() => undefined);
    inFlight = { generation: asked, answer };
    return answer;
  };
  const current = (): ToolList | null =>
    kept !== null && performance.now() < kept.untilMs ? kept.list : null;
  return {
    async get(signal) {
      for (let questions = 1; ; questions += 1) {
        const known = current();
        if (known !== null) return known;
        const asked = generation;
        const isLast = questions === mostQuestions;
        try {
          const list = await unlessAborted(ask(), signal);
          if (asked === generation) return list;
          if (isLast) return current() ?? list;
        } catch (error) {
          const newer = current();
          if (signal.aborted || newer === null) throw error;
          return newer;
        }
      }
    },
    changed() {
      generation += 1;
      kept = null;
      outdated = last !== null;
    },
    current,
    isOutdated: () => outdated,
    last: () => last,
  };
}
