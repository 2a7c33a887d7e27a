/** Prometheus metrics of a worker: how its activities went, and whether it polls. */
import type { ActivityExecuteInput, ActivityInterceptorsFactory } from '@temporalio/worker';
import type { CallToolInput, CallToolResult } from './activity-types.ts';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export interface WorkerMetrics {
  readonly registry: Registry;
  readonly interceptor: ActivityInterceptorsFactory;
  setPolling(polling: boolean): void;
}

/**
 * @param configFaulty whether the configuration file as it is now cannot be used.
 * @param slots activities that may run at once.
 */
export function createWorkerMetrics(configFaulty: () => boolean = () => false, slots = 0): WorkerMetrics {
  const registry = new Registry();
  const registers = [registry];
  const duration = new Histogram({
    name: 'fermata_worker_activity_seconds',
    help: 'Duration of activity attempts.',
    labelNames: ['activity', 'outcome'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1_800],
    registers,
  });
  const running = new Gauge({
    name: 'fermata_worker_activities_running',
    help: 'Activity attempts that run now.',
    labelNames: ['activity'],
    registers,
  });
  const failures = new Counter({
    name: 'fermata_worker_activity_failures_total',
    help: 'Failed activity attempts by failure type.',
    labelNames: ['activity', 'type'],
    registers,
  });
  const calls = new Counter({
    name: 'fermata_worker_tool_calls_total',
    help: 'Tool calls by tool server of the configuration and outcome: ok, or failed (the tool said so, or could not be asked).',
    labelNames: ['server', 'outcome'],
    registers,
  });
  const polling = new Gauge({
    name: 'fermata_worker_polling',
    help: '1 while the worker asks Temporal for work.',
    registers,
  });
  addWorkerFacts(registers, configFaulty, slots);
  return {
    registry,
    setPolling: (value) => polling.set(value ? 1 : 0),
    interceptor: ({ info }) => ({
      inbound: {
        async execute(input: ActivityExecuteInput, next) {
          const activity = info.activityType;
          running.inc({ activity });
          const endTimer = duration.startTimer({ activity });
          try {
            const result = await next(input);
            endTimer({ outcome: 'ok' });
            if (activity === 'callTool') calls.inc(outcomeOf(input.args[0], result));
            return result;
          } catch (error) {
            endTimer({ outcome: 'failed' });
            failures.inc({ activity, type: failureType(error) });
            throw error;
          } finally {
            running.dec({ activity });
          }
        },
      },
    }),
  };
}

/** What does not go by activities. */
function addWorkerFacts(registers: Registry[], configFaulty: () => boolean, slots: number): void {
  const activitySlots = new Gauge({
    name: 'fermata_worker_activity_slots',
    help: 'Activities that may run at once.',
    registers,
  });
  activitySlots.set(slots);
  const configFault: Gauge = new Gauge({
    name: 'fermata_worker_config_fault',
    help: '1 while the configuration file cannot be used and the one from before stays in force.',
    registers,
    collect() {
      configFault.set(configFaulty() ? 1 : 0);
    },
  });
}

function outcomeOf(input: unknown, result: unknown): { server: string; outcome: string } {
  const { server } = input as CallToolInput;
  return { server, outcome: (result as CallToolResult).failed ? 'failed' : 'ok' };
}

/** Kinds that are told apart; ours are some twenty, and what else throws is named by its class. */
const mostFailureTypes = 50;
const failureTypes = new Set<string>();

function failureType(error: unknown): string {
  const type = error instanceof Error ? ((error as { type?: string | null }).type ?? error.name) : 'unknown';
  if (failureTypes.size < mostFailureTypes) failureTypes.add(type);
  return failureTypes.has(type) ? type : 'other';
}
