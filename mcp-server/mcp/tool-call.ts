/** A tool and one call of it, as the handlers of tools see them. Free of transports and eras. */
import type { InputRequiredResult } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { Asker } from '../runs/asker.ts';
import type { RunService } from '../runs/run-service.ts';
import type { ClientAsking } from './ask-client.ts';
import type { RequestStates } from './request-state.ts';
import type { SpawningCall } from '../runs/trace-spawn.ts';
import type { ToolAnswer } from './run-text.ts';
import type { CreatedTask } from './task-state.ts';

/** One call of a tool, as its handler sees it. */
export interface ToolCall extends SpawningCall {
  readonly asker: Asker;
  /** Aborted when the client cancels the call or has gone. */
  readonly signal: AbortSignal;
  /** Absent when the client did not ask for progress. */
  readonly progress?:
    | ((elapsedSeconds: number, totalSeconds: number, message: string) => Promise<void>)
    | undefined;
  /** How the person behind the client can be asked something; absent: not at all. */
  readonly asking?: ClientAsking | undefined;
  /** A call that was answered with questions, made again: what it was given along, verified, and the answers. */
  readonly retry?:
    | { readonly state: unknown; readonly answers: Readonly<Record<string, unknown>> }
    | undefined;
  /** The client takes a task in place of a result (the tasks extension). */
  readonly takesTask?: boolean | undefined;
}

/** What the tools stand on. */
export interface ToolDeps {
  readonly service: RunService;
  readonly states: Pick<RequestStates, 'mint'>;
}

export interface ToolDefinition {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: Readonly<Record<string, boolean>>;
  readonly input: z.ZodType;
  /** @param input as parsed by `input`. */
  handle(input: unknown, call: ToolCall): Promise<ToolAnswer | InputRequiredResult | CreatedTask>;
}
