/** What a worker adds to itself where traces are exported. */
import type { Client } from '@temporalio/client';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Logger } from 'pino';
import { firstInputReader } from '../../telemetry/first-input.ts';
import { RunTraces } from '../../telemetry/run-traces.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { activitySpans } from './activity-spans.ts';
import { createEndedRuns } from './ended-runs.ts';

export interface WorkerTracing {
  readonly interceptor: ActivityInterceptorsFactory;
  /** Tells of the runs that have just ended. Never rejects. */
  close(): Promise<void>;
}

export function traceWorker(telemetry: Telemetry, client: Client, logger: Logger): WorkerTracing {
  const traces = new RunTraces(telemetry, firstInputReader(client));
  const ended = createEndedRuns({ telemetry, traces, client, logger });
  return {
    interceptor: activitySpans({
      telemetry,
      traces,
      onRunEnded: (handle, executionId) => ended.add(handle, executionId),
    }),
    close: async () => await ended.close(),
  };
}
