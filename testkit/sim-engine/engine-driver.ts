/**
 * Runs the pure engine in real time: hands it the clock, sets one timer to its next event, and tells each
 * request's listener what happened to it. Lateness of timers does not add up, since steps follow each other
 * on the engine's own clock.
 */
import { advance, nextEventAtMs } from './core/advance.ts';
import type { EngineConfig } from './core/engine-config.ts';
import {
  createEngine,
  type EngineOutput,
  type EngineRequest,
  type EngineState,
} from './core/engine-state.ts';

export type EngineListener = (output: EngineOutput) => void;

export interface EngineDriver {
  readonly state: EngineState;
  /** `listener` hears of this request until it is finished, refused or aborted. */
  submit(request: EngineRequest, listener: EngineListener): void;
  abort(id: string): void;
  close(): void;
}

/**
 * @param timeScale real milliseconds for one of the engine's: 1 is real time, 0.1 ten times faster, 0 as
 * fast as the machine allows.
 */
export function createEngineDriver(config: Partial<EngineConfig>, timeScale: number): EngineDriver {
  const state = createEngine(config);
  const listeners = new Map<string, EngineListener>();
  const startedAtMs = performance.now();
  let timer: NodeJS.Timeout | null = null;
  let immediate: NodeJS.Immediate | null = null;

  const clockMs = (): number =>
    timeScale === 0 ? state.nowMs : (performance.now() - startedAtMs) / timeScale;

  // A listener may call back into the engine, whose later outputs must wait for the earlier ones.
  const undelivered: EngineOutput[] = [];
  let delivering = false;
  const deliver = (outputs: readonly EngineOutput[]): void => {
    undelivered.push(...outputs);
    if (delivering) return;
    delivering = true;
    try {
      for (let output = undelivered.shift(); output !== undefined; output = undelivered.shift()) {
        const listener = listeners.get(output.id);
        if (output.type === 'finished' || output.type === 'refused' || output.type === 'aborted') {
          listeners.delete(output.id);
        }
        listener?.(output);
      }
    } finally {
      delivering = false;
      schedule();
    }
  };
  const wake = (): void => {
    timer = null;
    immediate = null;
    const atMs = timeScale === 0 ? (nextEventAtMs(state) ?? state.nowMs) : clockMs();
    deliver(advance(state, { type: 'elapsed', atMs }));
  };
  const schedule = (): void => {
    const nextMs = nextEventAtMs(state);
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (nextMs === null || immediate !== null) return;
    if (timeScale === 0) immediate = setImmediate(wake);
    else timer = setTimeout(wake, Math.max(0, (nextMs - clockMs()) * timeScale));
  };
  return {
    state,
    submit(request, listener) {
      listeners.set(request.id, listener);
      deliver(advance(state, { type: 'submit', atMs: clockMs(), request }));
    },
    abort(id) {
      deliver(advance(state, { type: 'abort', atMs: clockMs(), id }));
    },
    close() {
      if (timer !== null) clearTimeout(timer);
      if (immediate !== null) clearImmediate(immediate);
      listeners.clear();
    },
  };
}
