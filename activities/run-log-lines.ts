/**
 * Names run and turn in every line that Temporal's SDK writes of an activity, such as that an attempt
 * failed. The names that its own lines go by (`workflowId`, `runId`) stay beside them.
 */
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { parseTraceparent } from '../contracts/trace-context.ts';
import type { CallToolInput, ModelTurnInput } from './activity-types.ts';

export const runLogLines: ActivityInterceptorsFactory = ({ info }) => {
  let known: Record<string, unknown> = {};
  return {
    inbound: {
      async execute(input, next) {
        known = namesOf(info.activityType, input.args[0]);
        return await next(input);
      },
    },
    outbound: {
      getLogAttributes: (attributes, next) =>
        next({ ...attributes, run: info.workflowExecution?.workflowId, ...known }),
    },
  };
};

function namesOf(activity: string, input: unknown): Record<string, unknown> {
  switch (activity) {
    case 'modelTurn': {
      const { turn, traceparent } = input as ModelTurnInput;
      const trace = parseTraceparent(traceparent)?.traceId;
      return { turn, ...(trace === undefined ? {} : { trace }) };
    }
    case 'callTool': {
      const { callId, server, serverTool } = input as CallToolInput;
      return { call: callId, toolServer: server, tool: serverTool };
    }
    default:
      return {};
  }
}
