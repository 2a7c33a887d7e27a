/** Case D05: a failure that comes late in a run, and what ran before it. */
import { boolean, constantFrom, integer, record, sample } from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { WorkflowHandle } from '@temporalio/client';
import { caseFile } from '../case-file.ts';
import { startFlakyRelay, type FlakyRelay } from './flaky-relay.ts';
import { httpServer, startRunStack, type RunStack } from './run-stack.ts';
import { startToolServer, type ToolServer } from '../../testkit/tool-server/host.ts';
import type { FakeRequest } from '../activities/fake-model.ts';

const d05 = caseFile('D05');

let tools: ToolServer;
let relay: FlakyRelay;
let stack: RunStack;
beforeAll(async () => {
  tools = await startToolServer({ delayScale: 0.01 });
  relay = await startFlakyRelay(tools.url);
  stack = await startRunStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    script: answerByPlan,
    toolServers: { net: httpServer(relay.url) },
  });
});
afterAll(async () => {
  await stack?.close();
  await relay?.close();
  await tools?.close();
});

interface Plan {
  /** Whether `notify` may be repeated; `charge` never may. */
  readonly notifyRepeatable: boolean;
  /** Times that the network loses `notify`. */
  readonly losses: number;
  readonly notifyFirst: boolean;
  readonly parallel: boolean;
  /** What the model says to the turn after the tools, first; then it answers. */
  readonly status: number;
}

/** What the model does by the name of its run, which is in its task. */
const plans = new Map<string, Plan>();
const lateRequests = new Map<string, number>();

function answerByPlan(request: FakeRequest): void {
  const task = String(request.body.messages.find(({ role }) => role === 'user')?.['content']);
  const plan = plans.get(task);
  if (plan === undefined) return request.say(`no plan for ${task}`);
  if (!request.body.messages.some(({ role }) => role === 'tool')) {
    const charge = { name: 'net__add_note', arguments: { text: `charge of ${task}.` } };
    const notify = plan.notifyRepeatable
      ? { name: 'net__lookup', arguments: { topic: `notify of ${task}.` } }
      : { name: 'net__add_note', arguments: { text: `notify of ${task}.` } };
    return request.call(plan.notifyFirst ? [notify, charge] : [charge, notify]);
  }
  const asked = (lateRequests.get(task) ?? 0) + 1;
  lateRequests.set(task, asked);
  if (asked > 1) return request.say('answered at last');
  return request.json(plan.status, { error: { message: 'late failure' } }, { 'retry-after-ms': '1' });
}

let runs = 0;

async function runPlan(plan: Plan): Promise<{ task: string; handle: WorkflowHandle; text: string | null }> {
  runs += 1;
  const task = `run ${runs}`;
  plans.set(task, plan);
  relay.lose(`notify of ${task}.`, plan.losses);
  const handle = await stack.start({ task, parallelToolCalls: plan.parallel });
  const text = await handle.result().then(
    (result) => (result as { text: string }).text,
    () => null,
  );
  return { task, handle, text };
}

/** Times that the activity of a call asks its server, from the policy of the tool. */
function notifyAttempts({ notifyRepeatable, losses }: Plan): number {
  return notifyRepeatable ? Math.min(losses + 1, 3) : 1;
}

interface Seen {
  readonly plan: Plan;
  readonly charges: unknown;
  readonly notifies: number;
  /** Of the turn after the tools. */
  readonly modelRequests: unknown;
  readonly answer: string | null;
  readonly status: unknown;
  readonly toolCalls: number;
  readonly workflowRetries: unknown;
  readonly retryPolicy: unknown;
}

async function runAndLook(plan: Plan): Promise<Seen> {
  const { task, handle, text } = await runPlan(plan);
  const [{ events }, { status, counters }] = await Promise.all([handle.fetchHistory(), stack.memo(handle)]);
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  return {
    plan,
    charges: relay.attempts(`charge of ${task}.`),
    notifies: relay.attempts(`notify of ${task}.`),
    modelRequests: lateRequests.get(task),
    answer: text,
    status,
    toolCalls: counters.toolCalls,
    workflowRetries: (started?.attempt ?? 1) - 1,
    retryPolicy: started?.retryPolicy ?? null,
  };
}

function wanted(plan: Plan): Seen {
  const refused = plan.status === 400;
  return {
    plan,
    charges: d05.expect['effect_counter_charge'],
    notifies: notifyAttempts(plan),
    modelRequests: refused ? d05.expect['model_attempts_on_400'] : 2,
    answer: refused ? null : 'answered at last',
    status: refused ? 'Failed' : 'Completed',
    toolCalls: 2,
    workflowRetries: d05.expect['workflow_level_retries'],
    retryPolicy: null,
  };
}

describe(`${d05.id} ${d05.title}`, () => {
  it('ends a run whose model refuses the turn after its tools, with each tool run as its policy says', async () => {
    const plan = { notifyFirst: false, parallel: false, losses: 2, status: 400 };
    const both = [true, false].map((notifyRepeatable) => ({ ...plan, notifyRepeatable }));
    expect(await Promise.all(both.map(runAndLook))).toEqual(both.map(wanted));
  });

  it('asks the model again after a failure that may pass, and no tool, whatever fails how often in any order', async () => {
    const anyPlan = record({
      notifyRepeatable: boolean(),
      losses: integer({ min: 0, max: 4 }),
      notifyFirst: boolean(),
      parallel: boolean(),
      status: constantFrom(400, 429, 500, 502, 503),
    });
    const sampled = sample(anyPlan, { numRuns: 14, seed: 5 });
    expect(await Promise.all(sampled.map(runAndLook))).toEqual(sampled.map(wanted));
  });
});
