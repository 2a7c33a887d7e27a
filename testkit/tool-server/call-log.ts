/**
 * Every execution of a tool, counted, and written to a file at once when a path is given: a line is on the
 * disk before the tool does anything, so that a second execution shows even after this process was killed.
 * Counts are bounded: of the idempotency keys the last 10,000 are kept, of the calls the last 1,000.
 */
import { appendFileSync } from 'node:fs';
import { createConditions, type Conditions } from '../conditions.ts';

export type CallPhase = 'started' | 'finished' | 'failed' | 'cancelled';

/** One line of the file. */
export interface CallLine {
  /** ISO 8601. */
  readonly at: string;
  /** Of this process; the same in all lines of a call. */
  readonly call: number;
  readonly tool: string;
  readonly arguments: unknown;
  /** null: the request's `_meta` has none. */
  readonly idempotencyKey: string | null;
  readonly phase: CallPhase;
}

export type PhaseCounts = Record<CallPhase, number>;

export interface CallCounts {
  readonly running: number;
  readonly tools: Readonly<Record<string, PhaseCounts>>;
  readonly keys: Readonly<Record<string, PhaseCounts & { readonly tool: string }>>;
  /** The most recent lines, oldest first. */
  readonly lines: readonly CallLine[];
}

export interface CallLog extends Conditions<CallCounts> {
  counts(): CallCounts;
  /** Records the start of a call; the function returned records its end, once. */
  begin(
    tool: string,
    values: unknown,
    idempotencyKey: string | null,
  ): (phase: Exclude<CallPhase, 'started'>) => void;
}

const keptKeys = 10_000;
const keptLines = 1_000;

const noCalls = (): PhaseCounts => ({ started: 0, finished: 0, failed: 0, cancelled: 0 });

/** @param path file that a JSON line is appended to for each start and end; null: none is kept. */
export function createCallLog(path: string | null): CallLog {
  const tools = new Map<string, PhaseCounts>();
  const keys = new Map<string, PhaseCounts & { tool: string }>();
  const lines: CallLine[] = [];
  let running = 0;
  let calls = 0;
  const counts = (): CallCounts => ({
    running,
    tools: Object.fromEntries(tools),
    keys: Object.fromEntries(keys),
    lines,
  });
  const conditions = createConditions(counts, ({ tools: byTool }) => byTool);

  const countOfKey = (key: string, tool: string): PhaseCounts => {
    const known = keys.get(key) ?? { ...noCalls(), tool };
    keys.delete(key);
    keys.set(key, known);
    const [oldest] = keys.keys();
    if (keys.size > keptKeys && oldest !== undefined) keys.delete(oldest);
    return known;
  };
  const record = (line: CallLine): void => {
    if (path !== null) appendFileSync(path, `${JSON.stringify(line)}\n`);
    lines.push(line);
    if (lines.length > keptLines) lines.shift();
    const ofTool = tools.get(line.tool) ?? noCalls();
    tools.set(line.tool, ofTool);
    ofTool[line.phase] += 1;
    if (line.idempotencyKey !== null) countOfKey(line.idempotencyKey, line.tool)[line.phase] += 1;
    running += line.phase === 'started' ? 1 : -1;
    conditions.changed();
  };
  return {
    ...conditions,
    counts,
    begin(tool, values, idempotencyKey) {
      calls += 1;
      const call = calls;
      let ended = false;
      const write = (phase: CallPhase): void => {
        record({ at: new Date().toISOString(), call, tool, arguments: values, idempotencyKey, phase });
      };
      write('started');
      return (phase) => {
        if (ended) return;
        ended = true;
        write(phase);
      };
    },
  };
}
