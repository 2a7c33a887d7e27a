/** Case D14: a client repeats a start with the same id. */
import { randomUUID } from 'node:crypto';
import { array, integer, sample } from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { caseFile } from '../case-file.ts';
import { connectClient, type TestClient } from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

let stack: Stack;
let client: TestClient;
beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  });
  client = await connectClient('modern', stack.mcpUrl);
});
afterAll(async () => {
  await client.close();
  await stack.close();
});

/** Holds once Temporal's list, which lags a little, shows one execution under the handle and no second. */
async function expectOneStart(handle: unknown): Promise<void> {
  await vi.waitFor(
    async () => {
      const { count } = await stack.temporal.workflow.count(`WorkflowId = '${String(handle)}'`);
      expect(count).toBe(1);
    },
    { timeout: 20_000, interval: 100 },
  );
}

const d14 = caseFile('D14');

/** Who starts the run: a client by itself, or under a run of its own, which starts it through a tree. */
type StartKind = 'root' | 'child';

describe.each(['root', 'child'] as const satisfies readonly StartKind[])(
  `${d14.id} ${d14.title} (%s)`,
  (kind) => {
    let under: { readonly parent?: unknown } = {};
    beforeAll(async () => {
      if (kind === 'root') return;
      const { structured } = await client.call('run', { task: stack.saying('parent') });
      const [parent] = structured['runs'] as readonly { readonly handle: string }[];
      under = { parent: parent?.handle };
    });
    const requestOf = (task: string): { readonly task: string; readonly requestId: string } => ({
      task,
      requestId: randomUUID(),
      ...under,
    });

    it('is one run when both come at once', async () => {
      const request = requestOf(stack.saying('once'));
      const other = await connectClient('modern', stack.mcpUrl);
      const answers = await Promise.all([
        client.call('spawn', request),
        other.call('spawn', request),
        client.call('spawn', request),
      ]);
      await other.close();
      expect(answers.map((answer) => answer.isError)).toEqual([false, false, false]);
      // Two clients of one name and address are one caller.
      const [handle, ...others] = new Set(answers.map((answer) => answer.structured['handle']));
      expect(others).toEqual([]);
      expect(answers.filter((answer) => answer.structured['existing'] !== true)).toHaveLength(1);
      const { structured } = await client.call('await', { handles: [handle] });
      expect(structured).toMatchObject({ runs: [{ status: 'Completed', result: 'once' }] });
      await expectOneStart(handle);
    });

    it('is the same run while it is running, marked as such', async () => {
      const held = stack.holding('slow');
      const request = requestOf(held.task);
      const first = await client.call('spawn', request);
      const second = await client.call('spawn', request);
      expect(first.structured).not.toHaveProperty('existing');
      expect(second.structured).toEqual({
        handle: first.structured['handle'],
        status: 'Running',
        existing: true,
      });
      held.release();
      const { structured } = await client.call('await', { handles: [first.structured['handle']] });
      expect(structured).toMatchObject({ runs: [{ status: 'Completed', result: 'slow' }] });
    });

    it('is the finished run after success, marked as such', async () => {
      const request = requestOf(stack.saying('done'));
      const first = await client.call('run', request);
      const second = await client.call('spawn', request);
      expect(second.structured).toMatchObject({ status: 'Completed', existing: true });
      expect(second.text).toContain('started this run before; it is Completed');
      const third = await client.call('run', request);
      expect(third.structured['runs']).toEqual(first.structured['runs']);
      await expectOneStart(second.structured['handle']);
    });

    it('is the failed run after a failure, marked as such: a new run takes a new id', async () => {
      const fault = { kind: 'error', status: 400 };
      const request = requestOf(`x [[sim ${JSON.stringify({ calls: [], answer: 'y', fault })}]]`);
      await client.call('run', request);
      const second = await client.call('spawn', request);
      expect(second.structured).toMatchObject({ status: 'Failed', existing: true });
      await expectOneStart(second.structured['handle']);
    });

    it('is the cancelled run after its end, marked as such: a new run takes a new id', async () => {
      const request = requestOf(stack.holding('never').task);
      const { structured } = await client.call('spawn', request);
      await client.call('cancel', { handle: structured['handle'] });
      await client.call('await', { handles: [structured['handle']] });
      const second = await client.call('spawn', request);
      expect(second.structured).toEqual({
        handle: structured['handle'],
        status: 'Cancelled',
        existing: true,
      });
      await expectOneStart(structured['handle']);
    });

    it('is refused in words when it asks for something else, and the first run goes on', async () => {
      const held = stack.holding('first');
      const request = requestOf(held.task);
      const { structured } = await client.call('spawn', request);
      const other = await client.call('spawn', { ...request, task: stack.saying('other') });
      expect(other.isError).toBe(true);
      expect(other.text).toContain('with other arguments; use a new requestId');
      expect((await client.call('status', { handle: structured['handle'] })).structured).toMatchObject({
        status: 'Running',
      });
      held.release();
      const ended = await client.call('await', { handles: [structured['handle']] });
      expect(ended.structured).toMatchObject({ runs: [{ result: 'first' }] });
    });

    it('is one run whatever comes with the id in whatever order, and nothing else is taken for it', async () => {
      const bodies = integer({ min: 0, max: 2 });
      const orders = sample(array(bodies, { minLength: 2, maxLength: 6 }), { numRuns: 6, seed: 14 });
      for (const order of orders) {
        const { requestId } = requestOf('');
        const answers = await Promise.all(
          order.map(async (body) => {
            const answer = await client.call('spawn', {
              ...requestOf(stack.saying(`body ${body}`)),
              requestId,
            });
            return { body, ...answer };
          }),
        );
        const taken = answers.filter(({ isError }) => !isError);
        expect(new Set(taken.map(({ structured }) => structured['handle'])).size).toBe(
          d14.expect['runs_started'],
        );
        expect(taken.filter(({ structured }) => structured['existing'] !== true)).toHaveLength(1);
        const [body, ...otherBodies] = new Set(taken.map((answer) => answer.body));
        expect(otherBodies).toEqual([]);
        const refused = answers.filter(({ isError }) => isError);
        expect(refused.map((answer) => answer.body)).toEqual(order.filter((one) => one !== body));
        expect(refused.every(({ text }) => text.includes('with other arguments'))).toBe(true);
      }
    });

    it('is the same run on another server and after a restart', async () => {
      const request = requestOf(stack.saying('kept'));
      const server = await stack.startServer();
      const before = await connectClient('modern', `${server.url}/mcp`);
      const first = await before.call('spawn', request);
      await before.close();
      await server.close();
      const restarted = await stack.startServer();
      const after = await connectClient('modern', `${restarted.url}/mcp`);
      const second = await after.call('spawn', request);
      await after.close();
      expect(second.structured).toMatchObject({ handle: first.structured['handle'], existing: true });
    });
  },
);

describe('a request id', () => {
  it('is another run when another caller takes it', async () => {
    const request = { task: stack.saying('mine'), requestId: randomUUID() };
    const stranger = await connectClient('modern', stack.mcpUrl, 'stranger');
    const first = await client.call('spawn', request);
    const second = await stranger.call('spawn', request);
    await stranger.close();
    expect(second.structured).not.toHaveProperty('existing');
    expect(second.structured['handle']).not.toBe(first.structured['handle']);
  });

  it('is taken once, for a root or for a child', async () => {
    const request = { task: stack.saying('where'), requestId: randomUUID() };
    const first = await client.call('run', request);
    const [root] = first.structured['runs'] as readonly { readonly handle: string }[];
    const second = await client.call('spawn', { ...request, parent: root?.handle });
    expect(second.isError).toBe(true);
    expect(second.text).toContain('with other arguments');
  });
});
