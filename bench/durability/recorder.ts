/**
 * Everything that happened while parts were killed, with one clock: turns at the engines, calls at the tool
 * server, kills, and what clients saw. It judges nothing.
 */
import { z } from 'zod';
import type { RequestRecord } from '../../testkit/sim-engine/request-log.ts';
import type { CallLine } from '../../testkit/tool-server/call-log.ts';
import type { PartName } from './kill-plan.ts';
import { indexOfTask, type PlannedRun } from './workload.ts';

/** Milliseconds since the epoch throughout; null: it has not ended. */
export interface EngineTurn {
  readonly run: string;
  readonly turn: number;
  readonly startMs: number;
  readonly endMs: number | null;
  /** The whole reply was sent. */
  readonly finished: boolean;
}

export interface ToolCallSeen {
  readonly run: string;
  readonly callId: string;
  readonly tool: string;
  /** JSON text. */
  readonly arguments: string;
  readonly startMs: number;
  readonly endMs: number | null;
  readonly finished: boolean;
}

export interface Kill {
  readonly part: PartName;
  readonly alone: boolean;
  readonly atMs: number;
  /** When it was ready again; null: it is not. */
  backMs: number | null;
}

/** A request of a client to the mcp-server. */
export interface ClientCall {
  readonly tool: string;
  /** Which of several mcp-servers; null: there is only one, or none was reached. */
  readonly server: string | null;
  readonly startMs: number;
  readonly endMs: number;
  /** Why it has to be made again; null: it was answered. */
  readonly failure: string | null;
}

export interface ObservedRun {
  readonly plan: PlannedRun;
  readonly startMs: number;
  handle: string | null;
  endMs: number | null;
  status: string | null;
  result: string | null;
  reason: string | null;
}

export interface Observations {
  readonly turns: readonly EngineTurn[];
  readonly calls: readonly ToolCallSeen[];
  readonly kills: readonly Kill[];
  readonly clientCalls: readonly ClientCall[];
  readonly runs: readonly ObservedRun[];
  /** Runs whose first turn offered the model no tools: a tool server that does not answer in time is left out. */
  readonly withoutTools: readonly string[];
}

/** A turn that an engine was asked for; what asks no run of {@link ObservedRun} is told apart by its task. */
export type OtherTurn = (task: string, turn: number) => void;

interface Sources {
  readonly engines: readonly { requests(): readonly RequestRecord[] }[];
  readonly tools: { calls(): { readonly lines: readonly CallLine[] } };
  /** Hears of each turn of somebody else's. */
  readonly others?: OtherTurn;
}

export class Recorder {
  readonly kills: Kill[] = [];
  readonly clientCalls: ClientCall[] = [];
  readonly runs: ObservedRun[] = [];
  readonly #sources: Sources;
  readonly #turns: { readonly record: RequestRecord; readonly index: number; readonly turn: number }[] = [];
  /** Number of the last record taken, by engine. */
  readonly #taken: number[] = [];
  readonly #calls = new Map<number, ToolCallSeen>();
  /** Numbers of runs. */
  readonly #withoutTools = new Set<number>();
  #lastLine: CallLine | null = null;

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  /** How often engines were asked for a turn of these runs. */
  get turnCount(): number {
    return this.#turns.length;
  }

  /** Takes over what engines and tool server have seen; they forget after some thousands. */
  collect(): void {
    for (const [index, engine] of this.#sources.engines.entries()) {
      const taken = this.#taken[index] ?? 0;
      // One whose body has not come yet is taken next time, with those after it.
      const seen = engine.requests().filter(({ number }) => number > taken);
      const unread = seen.findIndex(({ bodyBytes, phase }) => bodyBytes === 0 && phase === 'received');
      const fresh = unread === -1 ? seen : seen.slice(0, unread);
      for (const record of fresh) this.#takeRequest(record);
      this.#taken[index] = fresh.at(-1)?.number ?? taken;
    }
    const { lines } = this.#sources.tools.calls();
    const from = this.#lastLine === null ? 0 : lines.lastIndexOf(this.#lastLine) + 1;
    for (const line of lines.slice(from)) this.#takeLine(line);
    this.#lastLine = lines.at(-1) ?? this.#lastLine;
  }

  /** An engine is not told whose turn it serves; the words of the task tell. */
  #takeRequest(record: RequestRecord): void {
    const parsed = bodySchema.safeParse(record.body);
    if (!parsed.success) return;
    const { messages, tools = [] } = parsed.data;
    const task = messages.find(({ role }) => role === 'user')?.content;
    const index = typeof task === 'string' ? indexOfTask(task) : null;
    const replies = messages.filter(({ role }) => role === 'assistant').length;
    if (index !== null && tools.length === 0 && replies === 0) this.#withoutTools.add(index);
    if (index !== null) this.#turns.push({ record, index, turn: replies + 1 });
    else if (typeof task === 'string') this.#sources.others?.(task, replies + 1);
    record.body = null;
  }

  #takeLine(line: CallLine): void {
    const atMs = Date.parse(line.at);
    if (line.phase === 'started') {
      const [run = '', callId = ''] = (line.idempotencyKey ?? '').split(':');
      const { tool } = line;
      const seen = { run, callId, tool, arguments: JSON.stringify(line.arguments) };
      this.#calls.set(line.call, { ...seen, startMs: atMs, endMs: null, finished: false });
      return;
    }
    const seen = this.#calls.get(line.call);
    if (seen !== undefined)
      this.#calls.set(line.call, { ...seen, endMs: atMs, finished: line.phase !== 'cancelled' });
  }

  observations(): Observations {
    this.collect();
    return {
      turns: this.#turns.map(({ record, index, turn }) => ({
        run: this.#handleOf(index),
        turn,
        startMs: record.arrivedAtMs,
        endMs: record.endedAtMs,
        finished: record.phase === 'finished',
      })),
      calls: [...this.#calls.values()],
      kills: this.kills,
      clientCalls: this.clientCalls,
      runs: this.runs,
      withoutTools: [...this.#withoutTools].map((index) => this.#handleOf(index)),
    };
  }

  /** A run whose client has not heard its handle yet goes by its number. */
  #handleOf(index: number): string {
    return this.runs.find(({ plan }) => plan.index === index)?.handle ?? `run ${index}`;
  }
}

const bodySchema = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
  tools: z.array(z.unknown()).optional(),
});
