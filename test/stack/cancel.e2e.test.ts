/** Case D03: a cancel in every phase of a run, of the run itself and of what is below it. */
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { RequestRecord } from '../../testkit/sim-engine/request-log.ts';
import type { SimEngine } from '../../testkit/sim-engine/host.ts';
import { caseFile } from '../case-file.ts';
import { eventually } from '../cli/run-up.ts';
import { startTestStack, type TestStack } from './start-test-stack.ts';

const d03 = caseFile('D03');

/** The limits of the acceptance; measured by the clocks of engine and tool server, which share this process. */
const engineLimitMs = 1_000;
const toolLimitMs = 5_000;
const closedLimitMs = 15_000;

type Phase = 'model_stream' | 'mcp_call' | 'proxy_queue' | 'retry_backoff';
const phases = d03.given['cancel_during'] as readonly Phase[];

let stack: TestStack;
let engine: SimEngine;
let temporal: Client;
let connection: Connection;
beforeAll(async () => {
  stack = await startTestStack({ engines: [{ timeScale: 0.1 }], replica: { maxConcurrent: 1 } });
  const [first] = stack.engines;
  if (first === undefined) throw new Error('no engine');
  engine = first;
  connection = await Connection.connect({ address: inject('temporalAddress') });
  temporal = new Client({ connection });
});
afterAll(async () => {
  await connection.close();
  await stack.close();
});

const of = (words: string) => (record: RequestRecord) => JSON.stringify(record.body).includes(words);

async function spawn(task: string, parent: string | null): Promise<string> {
  const { handle } = await stack.client.call('spawn', { task, ...(parent === null ? {} : { parent }) });
  return String(handle);
}

/** A run in one phase of its life. */
interface Placed {
  readonly handle: string;
  /** Of its task only. */
  readonly words: string;
  /** Holds once the cancel has reached where the run was. */
  reached(): Promise<void>;
}

let runs = 0;

/** Starts a run and waits until it is in `phase`. */
async function place(phase: Phase, parent: string | null): Promise<Placed> {
  runs += 1;
  const words = `Run number ${runs}.`;
  const notHeld = async (): Promise<void> => {
    await eventually('no held turn', async () => (await stack.status()).held.length === 0, engineLimitMs);
  };
  switch (phase) {
    case 'model_stream': {
      const held = engine.holdNext(of(words));
      const handle = await spawn(`${words} [[sim {"calls":[],"answerTokens":200}]]`, parent);
      const record = await held.arrived;
      held.release(3);
      await engine.waitFor(() => record.chunksSent >= 3);
      const reached = async (): Promise<void> => {
        await engine.waitFor(() => record.phase === 'aborted', engineLimitMs);
      };
      return { handle, words, reached };
    }
    case 'mcp_call': {
      const directive = `{"calls":["wait"],"toolArguments":{"wait":{"milliseconds":60000}}}`;
      const before = { ...stack.tools.calls().tools['wait'] };
      const handle = await spawn(`${words} [[sim ${directive}]]`, parent);
      await stack.tools.waitFor(({ tools }) => (tools['wait']?.started ?? 0) > (before.started ?? 0));
      const reached = async (): Promise<void> => {
        await stack.tools.waitFor(
          ({ tools }) => (tools['wait']?.cancelled ?? 0) > (before.cancelled ?? 0),
          toolLimitMs,
        );
      };
      return { handle, words, reached };
    }
    case 'proxy_queue': {
      const handle = await spawn(`${words} [[sim {"calls":[]}]]`, parent);
      await eventually('a held turn', async () =>
        (await stack.status()).held.some(({ turns }) => turns === 1),
      );
      return { handle, words, reached: notHeld };
    }
    case 'retry_backoff': {
      engine.failNext({ kind: 'error', status: 500 }, { times: 10, match: of(words) });
      const handle = await spawn(`${words} [[sim {"calls":[]}]]`, parent);
      await eventually('an attempt that waits', async () => {
        const { raw } = await temporal.workflow.getHandle(handle).describe();
        return raw.pendingActivities?.some(({ attempt }) => (attempt ?? 1) > 1);
      });
      return { handle, words, reached: async () => {} };
    }
    default:
      return phase satisfies never;
  }
}

/** Keeps the only place at the engine, so that every other turn is held. */
async function block(): Promise<string> {
  const held = engine.holdNext(of('Block the way.'));
  const handle = await spawn('Block the way. [[sim {"calls":[]}]]', null);
  await held.arrived;
  return handle;
}

async function expectClosed(handles: readonly string[]): Promise<void> {
  const answer = await stack.client.call('await', { handles, timeoutSeconds: closedLimitMs / 1_000 });
  const views = answer['runs'] as { readonly status: string; readonly reason: string }[];
  expect(views.map(({ status }) => status)).toEqual(handles.map(() => 'Cancelled'));
  expect(views.map(({ reason }) => reason)).toEqual(
    handles.map(() => expect.stringContaining('no longer wanted')),
  );
  for (const handle of handles) {
    const { status } = await temporal.workflow.getHandle(handle).describe();
    expect(status.name).toBe('CANCELLED');
  }
}

/** What the engine has been asked by a run, and what it has made of it. */
function workOf({ words }: Placed): { readonly requests: number; readonly tokens: number } {
  const ofRun = engine.requests().filter(of(words));
  return {
    requests: ofRun.length,
    tokens: ofRun.reduce((sum, { completionTokens }) => sum + completionTokens, 0),
  };
}

/** Ends whatever else is at the engine. */
async function clearWay(blocker: string | null): Promise<void> {
  if (blocker !== null) await stack.client.call('cancel', { handle: blocker });
  await engine.waitFor(({ counts }) => counts.active === 0);
  expect(engine.state.running).toEqual([]);
}

describe(`${d03.id} ${d03.title}`, () => {
  it.each(phases)('during %s: the run is closed as cancelled, and nothing of it goes on', async (phase) => {
    const blocker = phase === 'proxy_queue' ? await block() : null;
    const run = await place(phase, null);
    const cancelledAtMs = Date.now();
    await stack.client.call('cancel', { handle: run.handle, reason: 'no longer wanted' });
    await run.reached();
    const before = workOf(run);
    await expectClosed([run.handle]);
    expect(Date.now() - cancelledAtMs).toBeLessThan(closedLimitMs);
    await clearWay(blocker);
    const { upstream_tokens_after_s: after } = d03.expect['each'] as {
      readonly upstream_tokens_after_s: Readonly<Record<string, number>>;
    };
    expect(workOf(run).tokens - before.tokens).toBe(after['10']);
    expect(workOf(run).requests).toBe(phase === 'proxy_queue' ? 0 : before.requests);
  });

  it.each(phases)('during %s of a child: it is cancelled with its parent', async (phase) => {
    const parent = await place('mcp_call', null);
    const blocker = phase === 'proxy_queue' ? await block() : null;
    const child = await place(phase, parent.handle);
    await stack.client.call('cancel', { handle: parent.handle, reason: 'no longer wanted' });
    await Promise.all([parent.reached(), child.reached()]);
    const before = [workOf(parent), workOf(child)];
    await expectClosed([parent.handle, child.handle]);
    await clearWay(blocker);
    expect([workOf(parent), workOf(child)]).toEqual(before);
  });
});
