/**
 * What the models of this worker's runs are writing, for whoever looks at a run. Best effort and never
 * stored: it is gone with its turn, whose reply is then in the transcript. Nothing is copied while nobody
 * asks; who asks again gets what has come since.
 */
import type { CollectedReply } from './model-turn/collect-reply.ts';

export interface LiveTurn {
  /** Counts from 1. */
  readonly turn: number;
  /** `asked`: its request is held, or the engine has not begun to answer. */
  readonly phase: 'asked' | 'writing';
  /** Place of `text` in all that it has written, in UTF-16 units. */
  readonly offset: number;
  readonly text: string;
  /** Tools that it begins to call. */
  readonly calls: readonly string[];
}

/** What of a turn is known already. */
export interface LivePlace {
  readonly turn: number;
  readonly offset: number;
}

/** Told by whoever reads a reply. */
export interface TurnProgress {
  /** Its first part has come. @param soFar all that has come, whenever it is asked for. */
  begun(soFar: () => Pick<CollectedReply, 'content' | 'calls'>): void;
  /** Another part has come. */
  grew(): void;
}

export interface LiveTurns {
  begin(runId: string, turn: number): { readonly progress: TurnProgress; end(): void };
  /**
   * The turn of a run at work here; null: there is none.
   * @param known it answers when there is more than that, or when the time is up; null: at once.
   * @param waitMs milliseconds it may wait for more.
   */
  read(runId: string, known: LivePlace | null, waitMs: number, signal: AbortSignal): Promise<LiveTurn | null>;
}

/** UTF-16 units of one answer; the rest comes with the next. */
const longestText = 64_000;
/** Milliseconds for which parts are gathered before an answer tells them. */
const gatherMs = 100;
/** Who waits at one time for one run; more are answered at once. */
const mostWaiting = 20;

interface Entry {
  readonly turn: number;
  soFar: (() => Pick<CollectedReply, 'content' | 'calls'>) | null;
  readonly waiting: Set<() => void>;
}

export function createLiveTurns(): LiveTurns {
  const entries = new Map<string, Entry>();
  return {
    begin(runId, turn) {
      const entry: Entry = { turn, soFar: null, waiting: new Set() };
      wake(entries.get(runId));
      entries.set(runId, entry);
      return {
        progress: {
          begun(soFar) {
            entry.soFar = soFar;
            wake(entry);
          },
          grew() {
            if (entry.waiting.size > 0) wake(entry);
          },
        },
        end() {
          if (entries.get(runId) === entry) entries.delete(runId);
          wake(entry);
        },
      };
    },
    async read(runId, known, waitMs, signal) {
      const entry = entries.get(runId);
      if (entry === undefined) return null;
      if (known !== null && !isNews(entry, known) && waitMs > 0 && entry.waiting.size < mostWaiting) {
        await untilNews(entry, waitMs, signal);
        if (isWriting(entry)) await pause(Math.min(gatherMs, waitMs));
      }
      // Another turn may have begun, or this one ended.
      const now = entries.get(runId);
      return now === undefined ? null : shown(now, known);
    },
  };
}

function wake(entry: Entry | undefined): void {
  for (const resume of entry?.waiting ?? []) resume();
}

function isWriting({ soFar }: Entry): boolean {
  return soFar !== null;
}

function isNews(entry: Entry, known: LivePlace): boolean {
  if (entry.turn !== known.turn) return true;
  const text = entry.soFar?.().content ?? '';
  return text.length > known.offset;
}

async function untilNews(entry: Entry, waitMs: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const resume = (): void => {
      entry.waiting.delete(resume);
      clearTimeout(timer);
      signal.removeEventListener('abort', resume);
      resolve();
    };
    const timer = setTimeout(resume, waitMs);
    entry.waiting.add(resume);
    signal.addEventListener('abort', resume);
    if (signal.aborted) resume();
  });
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

function shown(entry: Entry, known: LivePlace | null): LiveTurn {
  const { content = '', calls = [] } = entry.soFar?.() ?? {};
  const from =
    known !== null && known.turn === entry.turn && known.offset <= content.length ? known.offset : 0;
  return {
    turn: entry.turn,
    phase: isWriting(entry) ? 'writing' : 'asked',
    offset: from,
    text: content.slice(from, from + longestText),
    calls: calls.map(({ name }) => name).filter((name) => name !== ''),
  };
}
