/**
 * The proxy's access log as a test reads it: one record a request, kept while the stack logs. The records
 * are the product's own words on which run a request was counted to, where it went and how it ended.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';

const turnRecordSchema = z.looseObject({
  msg: z.literal('turn'),
  run: z.string().nullable(),
  /** What its client calls the run. */
  runName: z.string().nullable(),
  runBy: z.string().nullable(),
  api: z.string(),
  model: z.string().nullable(),
  replica: z.string().nullable(),
  status: z.number(),
  outcome: z.string(),
  reason: z.string().nullable(),
  caller: z.string().nullable(),
});
export type LoggedTurn = Pick<
  z.infer<typeof turnRecordSchema>,
  'run' | 'runName' | 'runBy' | 'api' | 'model' | 'replica' | 'status' | 'outcome' | 'reason' | 'caller'
>;

/** What the log tells of one run, its turns in the order in which they ended. */
export interface LoggedRun {
  readonly run: string;
  /** What its client calls it. */
  readonly name: string | null;
  readonly turns: readonly LoggedTurn[];
  readonly pauses: number;
  readonly replicas: readonly string[];
}

const warnLevel = 40;
const maxRecords = 20_000;
const maxWarnings = 200;
const lineSchema = z.looseObject({ level: z.number(), msg: z.string().optional() });

export class TurnLog {
  readonly #records: LoggedTurn[] = [];
  readonly #warnings: string[] = [];

  /** Takes one line of pino's; keeps the last 20,000 turns and 200 lines of level warn and above. */
  write(line: string): void {
    const { level, msg } = lineSchema.parse(JSON.parse(line));
    if (level >= warnLevel) this.#warnings.splice(0, Math.max(0, this.#warnings.push(line) - maxWarnings));
    if (msg !== 'turn') return;
    const record = turnRecordSchema.safeParse(JSON.parse(line));
    if (record.success) this.#records.splice(0, Math.max(0, this.#records.push(record.data) - maxRecords));
  }

  get warnings(): string {
    return this.#warnings.join('');
  }

  turns(which: (turn: LoggedTurn) => boolean): LoggedTurn[] {
    return this.#records.filter(which);
  }

  /** Those turns by run; a request that came to no run is left out. */
  runs(which: (turn: LoggedTurn) => boolean): LoggedRun[] {
    const byRun = new Map<string, LoggedTurn[]>();
    for (const turn of this.turns(which)) {
      if (turn.run === null) continue;
      const turns = byRun.get(turn.run);
      if (turns === undefined) byRun.set(turn.run, [turn]);
      else turns.push(turn);
    }
    return [...byRun].map(([run, turns]) => ({
      run,
      name: turns[0]?.runName ?? null,
      turns,
      pauses: turns.filter((turn) => turn.outcome === 'paused').length,
      replicas: [...new Set(turns.flatMap(({ replica }) => replica ?? []))],
    }));
  }

  /** Resolves once so many turns are there, at most 10 s later: a line follows the last byte of a reply. */
  async until(count: number, which: (turn: LoggedTurn) => boolean): Promise<void> {
    for (let attempt = 0; attempt < 100 && this.turns(which).length < count; attempt += 1) await delay(100);
  }
}
