/**
 * The one writer of the scheduler's state. Events are applied in the order they were submitted, each to
 * its end before the next; one that is submitted while another is applied waits in a queue with a bound.
 */
import type { Effect, SchedulerEvent } from '../core/events.ts';
import type { SchedulerState } from '../core/state.ts';
import { step } from '../core/step.ts';

const maxQueued = 100_000;

/** An event without its time, which the loop adds as it takes it up. */
export type Submission = SchedulerEvent extends infer Event
  ? Event extends SchedulerEvent
    ? Omit<Event, 'atMs'>
    : never
  : never;

export interface EventLoop {
  readonly state: SchedulerState;
  /** @throws Error when the queue is full, which only a loop of events that cause events can bring about. */
  submit(event: Submission): void;
}

export interface EventLoopDeps {
  /** A clock in milliseconds that should not go back. */
  readonly nowMs: () => number;
  readonly onEffects: (effects: readonly Effect[], event: SchedulerEvent, tookMs: number) => void;
}

export function createEventLoop(state: SchedulerState, deps: EventLoopDeps): EventLoop {
  const queued: Submission[] = [];
  let busy = false;
  return {
    state,
    submit(submission) {
      if (queued.length >= maxQueued) throw new Error(`more than ${maxQueued} events are queued`);
      queued.push(submission);
      if (busy) return;
      busy = true;
      try {
        for (let next = queued.shift(); next !== undefined; next = queued.shift()) {
          const atMs = deps.nowMs();
          const event: SchedulerEvent = { ...next, atMs };
          const effects = step(state, event);
          deps.onEffects(effects, event, deps.nowMs() - atMs);
        }
      } finally {
        busy = false;
      }
    },
  };
}
