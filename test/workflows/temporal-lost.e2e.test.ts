import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { chunk } from '../activities/fake-model.ts';
import { startOwnTemporal, type OwnTemporal } from '../own-temporal.ts';
import { startRunStack, type RunStack } from './run-stack.ts';

let server: OwnTemporal | undefined;
let stack: RunStack | undefined;

beforeAll(async () => {
  server = await startOwnTemporal({ keeps: true });
  stack = await startRunStack({
    temporalAddress: server.address,
    workflowBundlePath: inject('workflowBundlePath'),
    script: (request) => request.say('no script'),
  });
});
afterAll(async () => {
  await stack?.close();
  await server?.close();
});

describe('a Temporal server that is killed and started again', () => {
  it('finds its runs and the same workers go on with them', async () => {
    if (stack === undefined || server === undefined) throw new Error('not set up');
    const { model, client } = stack;
    model.script((request, index) => {
      if (index === 0) request.call([{ name: 'kit__add_note', arguments: { text: 'once' } }]);
      else if (index === 1) request.write(chunk({ content: 'I am' }));
      else request.say('still here');
    });
    const handle = await stack.start({ task: 'survive' });
    await model.waitForRequests(2);
    await server.kill();
    const readiness = async (): Promise<number> => (await fetch(`${stack?.worker?.url ?? ''}/readyz`)).status;
    expect(await readiness()).toBe(503);
    // The turn ends while nobody can be told.
    model.requests[1]?.write(chunk({ content: ' alone' }), chunk({}, 'stop'), 'data: [DONE]\n\n');
    model.requests[1]?.end();
    await server.start();
    await expect
      .poll(async () => (await client.workflow.getHandle(handle.workflowId).describe()).status.name, {
        timeout: 60_000,
        interval: 500,
      })
      .toBe('COMPLETED');
    expect(await handle.result()).toMatchObject({ counters: { turns: 2, toolCalls: 1 } });
    expect(stack.tools.calls().tools['add_note']?.started).toBe(1);
    expect(await readiness()).toBe(200);
  });
});
