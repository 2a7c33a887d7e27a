/**
 * A simulated inference engine as a state machine: continuous batching, chunked prefill, finite KV memory
 * with a prefix cache, preemption, a bounded queue, aborts. Time and requests arrive in events; the same
 * events from the same start give the same outputs. The state is changed in place and owned by one caller.
 *
 * Drive it: hand in events in order of time; when {@link nextEventAtMs} passes without another event, hand
 * in `elapsed`. An event first completes every step that ends by its time. A time that lies in the past
 * counts as now. What the request says and what the reply is, is not its business.
 */
import { completeStep, removeRequest, startStep } from './engine-step.ts';
import type { EngineEvent, EngineOutput, EngineRequest, EngineState, RefusalReason } from './engine-state.ts';
import { blockTokens } from './tokens.ts';

/** When something will happen by itself; null: the engine is idle until the next request. */
export function nextEventAtMs(state: EngineState): number | null {
  return state.step?.endMs ?? null;
}

/** Applies one event and returns what happened until then, in order of time. */
export function advance(state: EngineState, event: EngineEvent): EngineOutput[] {
  const outputs: EngineOutput[] = [];
  const atMs = Math.max(event.atMs, state.nowMs);
  while (state.step !== null && state.step.endMs <= atMs) {
    const { endMs } = state.step;
    completeStep(state, outputs);
    startStep(state, endMs, outputs);
  }
  state.nowMs = atMs;
  switch (event.type) {
    case 'submit':
      submit(state, atMs, event.request, outputs);
      break;
    case 'abort':
      abort(state, atMs, event.id, outputs);
      break;
    case 'elapsed':
      break;
    default:
      event satisfies never;
  }
  if (state.step === null) startStep(state, atMs, outputs);
  return outputs;
}

function submit(state: EngineState, atMs: number, request: EngineRequest, outputs: EngineOutput[]): void {
  const reason = refusalOf(state, request);
  if (reason !== null) {
    state.counters.refused += 1;
    outputs.push({ type: 'refused', atMs, id: request.id, reason });
    return;
  }
  const live = {
    spec: request,
    phase: 'waiting' as const,
    computedTokens: 0,
    knownTokens: request.promptTokens,
    blocks: [],
    cachedTokens: null,
  };
  state.counters.accepted += 1;
  state.live.set(request.id, live);
  state.waiting.set(request.id, live);
}

function refusalOf(state: EngineState, request: EngineRequest): RefusalReason | null {
  const { config } = state;
  const tokens = request.promptTokens + request.outputTokens;
  if (tokens > Math.min(config.maxContextTokens, config.totalBlocks * blockTokens)) return 'too-long';
  if (state.live.has(request.id)) return 'duplicate-id';
  return state.live.size >= config.maxRunning + config.maxQueue ? 'queue-full' : null;
}

function abort(state: EngineState, atMs: number, id: string, outputs: EngineOutput[]): void {
  const request = state.live.get(id);
  if (request === undefined) return;
  removeRequest(state, request);
  state.counters.aborted += 1;
  outputs.push({ type: 'aborted', atMs, id });
}
