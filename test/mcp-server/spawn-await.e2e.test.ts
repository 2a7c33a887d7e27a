import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { z } from 'zod';
import { connectClient, type ClientKind, type TestClient } from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  });
});
afterAll(async () => {
  await stack.close();
});

const kinds: ClientKind[] = ['modern', 'legacy', 'sdk'];
describe.each(kinds)('a %s client', (kind) => {
  let client: TestClient;
  beforeAll(async () => {
    client = await connectClient(kind, stack.mcpUrl);
  });
  afterAll(async () => {
    await client.close();
  });

  async function spawn(task: string, over: Record<string, unknown> = {}): Promise<string> {
    const { structured, isError } = await client.call('spawn', { task, ...over });
    expect(isError).toBe(false);
    return String(structured['handle']);
  }

  it('sees the tools in their order', async () => {
    expect(await client.toolNames()).toEqual([
      'spawn',
      'await',
      'run',
      'status',
      'cancel',
      'approve',
      'tools',
      'decide',
    ]);
  });

  it('spawns runs and awaits all of them in one call', async () => {
    const handles = [await spawn(stack.lookingUp('one')), await spawn(stack.saying('two'))];
    const { structured, text } = await client.call('await', { handles });
    expect(structured).toMatchObject({
      done: true,
      runs: [
        { handle: handles[0], status: 'Completed', result: 'one', toolCalls: 1, failedToolCalls: 0 },
        { handle: handles[1], status: 'Completed', result: 'two' },
      ],
    });
    expect(text).toContain('one');
    expect(text).toContain('two');
  });

  it('awaits any of several runs, and gets the one that has ended', async () => {
    const late = stack.holding('late');
    const here = stack.holding('here');
    const handles = [await spawn(late.task), await spawn(here.task)];
    const waiting = client.call('await', { handles, mode: 'any' });
    here.release();
    expect((await waiting).structured).toMatchObject({
      done: true,
      runs: [{ status: 'Running' }, { status: 'Completed', result: 'here' }],
    });
    late.release();
  });

  it('is told that time is up, and goes on waiting with the same handle', async () => {
    const held = stack.holding('at last');
    const handles = [await spawn(held.task)];
    const early = await client.call('await', { handles, timeoutSeconds: 0.2 });
    expect(early.isError).toBe(false);
    expect(early.structured).toMatchObject({ done: false, runs: [{ status: 'Running' }] });
    expect(early.text).toContain('await again');
    const waiting = client.call('await', { handles });
    held.release();
    expect((await waiting).structured).toMatchObject({ done: true, runs: [{ result: 'at last' }] });
  });

  it('hears of progress while it waits', async () => {
    const held = stack.holding('heard');
    const handle = await spawn(held.task);
    await held.held;
    const seen: { progress: number; message?: string | undefined }[] = [];
    const enough = vi.fn<() => void>();
    const waiting = client.call(
      'await',
      { handles: [handle] },
      {
        onprogress: (progress) => {
          seen.push(progress);
          if (seen.length === 3) enough();
        },
      },
    );
    await vi.waitFor(() => expect(enough).toHaveBeenCalled(), { timeout: 20_000 });
    held.release();
    expect((await waiting).structured).toMatchObject({ done: true });
    expect(seen[2]?.message).toContain('0 of 1 ended');
    expect(seen[2]?.message).toContain(`${handle}: model turn 2`);
    const values = seen.map(({ progress }) => progress);
    expect(values).toEqual(values.toSorted((a, b) => a - b));
  });

  it('runs a task to its end in one call, and learns the handle before', async () => {
    const messages: string[] = [];
    const onprogress = ({ message }: { message?: string | undefined }) => messages.push(message ?? '');
    const { structured } = await client.call('run', { task: stack.saying('done') }, { onprogress });
    expect(structured).toMatchObject({ done: true, runs: [{ status: 'Completed', result: 'done' }] });
    expect(messages[0]).toMatch(/^run_\w{22}: started$/);
  });

  it('cancels a run, once, and sees what it had', async () => {
    const held = stack.holding('never');
    const handle = await spawn(held.task);
    await held.held;
    const waiting = client.call('await', { handles: [handle] });
    expect((await client.call('cancel', { handle, reason: 'enough' })).structured).toMatchObject({
      reached: 1,
    });
    expect((await waiting).structured).toMatchObject({
      done: true,
      runs: [{ status: 'Cancelled', reason: 'enough', partial: 'so far' }],
    });
    const again = await client.call('cancel', { handle });
    expect(again.structured).toMatchObject({ reached: 0, status: 'Cancelled' });
    expect(again.text).toContain('had ended already');
  });

  it('finds its own runs, and no others, without a handle', async () => {
    const other = await connectClient(kind, stack.mcpUrl, `other-${kind}`);
    const foreign = await other.call('spawn', { task: stack.saying('foreign') });
    const own = await spawn(stack.saying('own'));
    await vi.waitFor(
      async () => {
        const { text } = await client.call('status');
        expect(text).toContain(own);
        expect(text).not.toContain(foreign.structured['handle']);
        expect((await other.call('status')).text).toContain(foreign.structured['handle']);
      },
      { timeout: 20_000, interval: 100 },
    );
    await other.close();
  });

  it('sees one run with its counts', async () => {
    const handle = await spawn(stack.lookingUp('seen'));
    await client.call('await', { handles: [handle] });
    expect((await client.call('status', { handle })).structured).toMatchObject({
      handle,
      status: 'Completed',
      toolCalls: 1,
      failedToolCalls: 0,
      usage: { turns: 2 },
      model: stack.model,
      root: handle,
      parent: null,
    });
  });

  it('gets what it did wrong as tool errors that say what to do', async () => {
    const unknown = 'run_0000000000000000000000';
    for (const [tool, args] of [
      ['await', { handles: [unknown, 'nonsense'] }],
      ['await', { handles: [unknown] }],
      ['status', { handle: unknown }],
      ['cancel', { handle: unknown }],
    ] as const) {
      const { isError, text } = await client.call(tool, args);
      expect(isError).toBe(true);
      expect(text).toContain('unknown handle');
      expect(text).toContain('spawn returns handles');
    }
    const tools = await client.call('spawn', { task: 'x', tools: ['desk__lookup', 'y'] });
    expect(tools.isError).toBe(true);
    expect(tools.text).toContain("tools: 'y' is not offered by any server; see the tools tool");
    const model = await client.call('spawn', { task: 'x', model: 'nope' });
    expect(model.isError).toBe(true);
    expect(model.text).toBe(`model 'nope' is not in the pool; available: ${stack.model}`);
    const arguments_ = await client.call('spawn', { task: 'x', colour: 'red' });
    expect(arguments_.isError).toBe(true);
    expect(arguments_.text).toContain('colour');
    const time = await client.call('await', { handles: [unknown], timeoutSeconds: 601 });
    expect(time.isError).toBe(true);
    expect(time.text).toContain('timeoutSeconds');
  });

  it('lists the tools of sub-agents', async () => {
    const { structured, text } = await client.call('tools');
    const tools = z.array(z.object({ name: z.string(), server: z.string() })).parse(structured['tools']);
    expect(tools).toContainEqual({ name: 'desk__lookup', server: 'desk' });
    expect(text).toContain('desk__lookup [reads only]: Looks a topic up');
    expect(text).toContain('desk__delete_page [destructive]');
  });

  it('gets a decision', async () => {
    const input = 'is it? [[sim {"decide":{"yes":0.9,"no":0.1}}]]';
    const { structured, text } = await client.call('decide', { input, labels: ['yes', 'no'] });
    expect(structured).toMatchObject({ label: 'yes', unscored: [] });
    expect(text).toContain('yes (yes 0.9');
    const wrong = await client.call('decide', { input, labels: ['yes', 'no'], model: 'nope' });
    expect(wrong.isError).toBe(true);
    expect(wrong.text).toContain('nope');
  });

  it('starts a run with the model and the tools it names', async () => {
    const over = { model: stack.model, tools: ['desk__lookup'], serviceClass: 'batch', maxToolCalls: '1' };
    const handle = await spawn(stack.lookingUp('named'), over);
    const { structured } = await client.call('await', { handles: handle });
    expect(structured).toMatchObject({ runs: [{ status: 'Completed', result: 'named', toolCalls: 1 }] });
    const status = await client.call('status', { handle });
    expect(status.structured).toMatchObject({ model: stack.model, class: 'batch' });
  });

  it('sees a run that failed with its reason, never as a success', async () => {
    const fault = { kind: 'error', status: 400 };
    const handle = await spawn(`x [[sim ${JSON.stringify({ calls: [], answer: 'y', fault })}]]`);
    const { structured, text } = await client.call('await', { handles: [handle] });
    expect(structured).toMatchObject({ done: true, runs: [{ status: 'Failed' }] });
    expect(JSON.stringify(structured)).not.toContain('"result"');
    expect(text).toMatch(/reason: .*400/);
  });

  it('gets a long answer cut, with a note', async () => {
    const task = stack.saying(`HEAD${'x'.repeat(150_000)}TAIL`);
    const { text } = await client.call('run', { task, maxTokens: 0 });
    const [, ...lines] = text.split('\n');
    expect(lines.map((line) => line.slice(0, 5))).toEqual(['HEADx', '[cut:', 'xxxxx']);
    expect(lines[1]).toMatch(/^\[cut: \d+ of 150008 characters left out here\]$/);
    expect(lines[2]?.slice(-5)).toBe('xTAIL');
    expect(text.length).toBeLessThan(62_000);
  });
});
