/**
 * What a run hands to its next workflow execution: the whole state as one plain value with a version.
 * Task and system prompt travel once, in the messages, and the tool list goes along as it is, so that
 * the next turn sends the same prompt and keeps its prefix cache. Pure.
 */
import type { ChatMessage } from '../contracts/chat-messages.ts';
import type { Handle } from '../contracts/ids.ts';
import type { RunInput } from '../contracts/run.ts';
import { readInput } from './read-input.ts';
import { startRun } from './run-state.ts';
import type { RunState } from './run-state.ts';
import { utf8Bytes } from './text.ts';
import { fitTranscript, transcriptOf } from './transcript.ts';

/** Goes up when an older worker's continuation needs more than defaults to be read. */
export const continuationVersion = 1;

/** Bytes of JSON that a continuation may have; Temporal refuses a workflow input over 2 MiB for good. */
export const continuationLimitBytes = 2_000_000;

export interface Continuation {
  /** Tells a continuation from a first input; no field of a {@link RunInput} has this name. */
  readonly continuation: number;
  readonly handle: Handle;
  readonly input: Omit<RunInput, 'task' | 'system'>;
  readonly messages: readonly ChatMessage[];
  /** As the transcript counts them. */
  readonly droppedRounds: number;
  readonly carried: Omit<RunState, 'handle' | 'input' | 'transcript'>;
}

export type ReadContinuation =
  | { readonly kind: 'ok'; readonly state: RunState }
  /** One line a fault. */
  | { readonly kind: 'faults'; readonly faults: readonly string[] };

/**
 * The run between two steps, with no call open. Transcript and tool list have bounds of their own that fit
 * in together; should the rest ever be too much, the transcript gives way.
 * @returns null when even that is not enough.
 */
export function continuationOf(state: RunState): Continuation | null {
  const whole = plainValue(state);
  const excessBytes = continuationBytes(whole) - continuationLimitBytes;
  if (excessBytes <= 0) return whole;
  const transcript = fitTranscript(state.transcript, Math.max(0, state.transcript.bytes - excessBytes));
  return transcript === null ? null : plainValue({ ...state, transcript });
}

function plainValue(state: RunState): Continuation {
  const { handle, input, transcript, ...carried } = state;
  const { task: _task, system: _system, ...rest } = input;
  const { messages, droppedRounds } = transcript;
  return { continuation: continuationVersion, handle, input: rest, messages, droppedRounds, carried };
}

export function continuationBytes(continuation: Continuation): number {
  return utf8Bytes(JSON.stringify(continuation));
}

export function isContinuation(given: unknown): boolean {
  return isRecord(given) && 'continuation' in given;
}

/** The state as it was handed over; digest and size of the transcript are computed anew. */
export function readContinuation(given: unknown, handle: Handle): ReadContinuation {
  const faults: string[] = [];
  if (!isRecord(given)) return { kind: 'faults', faults: ['must be an object'] };
  const { continuation: version, input: rest, messages, droppedRounds, carried } = given;
  if (version !== continuationVersion) {
    faults.push(
      `continuation: must be version ${continuationVersion}, got ${JSON.stringify(version) ?? 'none'}`,
    );
  }
  if (given['handle'] !== handle) faults.push('handle: must be that of this run');
  if (!isRecord(carried)) faults.push('carried: must be an object');
  if (typeof droppedRounds !== 'number') faults.push('droppedRounds: must be a number');
  if (!isMessages(messages)) faults.push('messages: must be chat messages that begin with the task');
  if (faults.length > 0 || !isMessages(messages) || !isRecord(carried)) return { kind: 'faults', faults };
  const read = readInput({ ...(isRecord(rest) ? rest : {}), ...openingOf(messages) });
  if (read.kind === 'faults') return read;
  const fresh = startRun(handle, read.input, 0);
  const transcript = { ...transcriptOf(messages), droppedRounds: Number(droppedRounds) };
  const state = { ...fresh, ...carried, handle, input: read.input, transcript };
  const wrong = [
    ...faultsOf('carried', fresh, state),
    ...faultsOf('counters', fresh.counters, state.counters),
  ];
  return wrong.length > 0 ? { kind: 'faults', faults: wrong } : { kind: 'ok', state };
}

/** Task and system prompt, as the first messages hold them. */
function openingOf(messages: readonly ChatMessage[]): Pick<RunInput, 'task' | 'system'> {
  const [first, second] = messages;
  const task = first?.role === 'system' ? second : first;
  return {
    task: textOf(task),
    ...(first?.role === 'system' ? { system: first.content } : {}),
  };
}

function textOf(message: ChatMessage | undefined): string {
  return typeof message?.content === 'string' ? message.content : '';
}

function isMessages(value: unknown): value is readonly ChatMessage[] {
  if (!Array.isArray(value)) return false;
  const roles = value.map((message: unknown) => (isRecord(message) ? message['role'] : undefined));
  const first = roles[0] === 'system' ? roles[1] : roles[0];
  return first === 'user' && roles.every((role) => typeof role === 'string' && knownRoles.has(role));
}

const knownRoles = new Set(['system', 'user', 'assistant', 'tool']);

/** One line for each field that is not of the kind that a fresh run has there. */
function faultsOf(of: string, fresh: object, given: object): string[] {
  const values = new Map<string, unknown>(Object.entries(given));
  return Object.entries(fresh).flatMap(([name, value]) =>
    isSameKind(value, values.get(name)) ? [] : [`${of}.${name}: is of another kind`],
  );
}

/** A field that is null in a fresh run may hold anything later. */
function isSameKind(fresh: unknown, carried: unknown): boolean {
  if (fresh === null) return carried !== undefined;
  if (carried === undefined) return false;
  return typeof fresh === typeof carried && Array.isArray(fresh) === Array.isArray(carried);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
