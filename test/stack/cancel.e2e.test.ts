import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../cli/run-up.ts';
import { startTestStack, type TestStack } from './start-test-stack.ts';

/** The limits of the acceptance; measured by the clocks of engine and tool server, which share this process. */
const engineLimitMs = 1_000;
const toolLimitMs = 5_000;

describe('cancel', () => {
  let stack: TestStack;
  let temporal: Client;
  let connection: Connection;
  beforeAll(async () => {
    stack = await startTestStack({ engines: [{ timeScale: 0.1 }], replica: { maxConcurrent: 1 } });
    connection = await Connection.connect({ address: inject('temporalAddress') });
    temporal = new Client({ connection });
  });
  afterAll(async () => {
    await connection.close();
    await stack.close();
  });

  const spawn = async (task: string): Promise<string> => {
    const { handle } = await stack.client.call('spawn', { task });
    return String(handle);
  };
  const expectCancelled = async (handle: string): Promise<void> => {
    const answer = await stack.client.call('await', { handles: [handle], timeoutSeconds: 20 });
    expect(answer['runs']).toMatchObject([{ handle, status: 'Cancelled', reason: 'no longer wanted' }]);
    const description = await temporal.workflow.getHandle(handle).describe();
    expect(description.status.name).toBe('CANCELLED');
  };
  const cancel = async (handle: string): Promise<void> => {
    await stack.client.call('cancel', { handle, reason: 'no longer wanted' });
  };

  it('during a model stream aborts the request at the engine within a second', async () => {
    const [engine] = stack.engines;
    if (engine === undefined) throw new Error('no engine');
    // Held from its arrival, which may come before spawn has answered.
    const held = engine.holdNext();
    const handle = await spawn('Say much. [[sim {"calls":[],"answerTokens":200}]]');
    const record = await held.arrived;
    held.release(3);
    await engine.waitFor(() => record.chunksSent >= 3);
    const cancelledAtMs = Date.now();
    await cancel(handle);
    await engine.waitFor(() => record.phase === 'aborted');
    expect(Date.now() - cancelledAtMs).toBeLessThan(engineLimitMs);
    await expectCancelled(handle);
  });

  it('while the turn is held never asks the engine', async () => {
    const [engine] = stack.engines;
    if (engine === undefined) throw new Error('no engine');
    const held = engine.holdNext();
    const blocker = await spawn('Block. [[sim {"calls":[]}]]');
    await held.arrived;
    const handle = await spawn('Wait your turn. [[sim {"calls":[]}]]');
    await eventually('a held turn', async () => (await stack.status()).held.some(({ turns }) => turns === 1));
    await cancel(handle);
    await eventually('no held turn', async () => (await stack.status()).held.length === 0, engineLimitMs);
    await expectCancelled(handle);
    held.releaseAll();
    await stack.client.call('await', { handles: [blocker], timeoutSeconds: 20 });
    expect(engine.requests().filter(({ runId }) => runId === handle)).toEqual([]);
  });

  it('during a tool call reaches the tool server within 5 seconds', async () => {
    const directive = '[[sim {"calls":["wait"],"toolArguments":{"wait":{"milliseconds":60000}}}]]';
    const handle = await spawn(`Wait long. ${directive}`);
    await stack.tools.waitFor(({ tools }) => tools['wait']?.started === 1);
    const cancelledAtMs = Date.now();
    await cancel(handle);
    await stack.tools.waitFor(({ tools }) => tools['wait']?.cancelled === 1, toolLimitMs * 2);
    expect(Date.now() - cancelledAtMs).toBeLessThan(toolLimitMs);
    await expectCancelled(handle);
  });
});
