import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { connectClient, type ClientKind, type TestClient } from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack(inject('temporalAddress'));
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
      'tools',
      'decide',
    ]);
  });

  it('spawns runs and awaits all of them in one call', async () => {
    const handles = [await spawn(stack.saying('one')), await spawn(stack.saying('two'))];
    const { structured, text } = await client.call('await', { handles });
    expect(structured).toMatchObject({
      done: true,
      runs: [
        { handle: handles[0], status: 'Completed', result: 'one', toolCalls: 1, failedToolCalls: 1 },
        { handle: handles[1], status: 'Completed', result: 'two' },
      ],
    });
    expect(text).toContain('one');
    expect(text).toContain('two');
  });

  it('awaits any of several runs, and gets the one that has ended', async () => {
    const handles = [await spawn(stack.waiting('late')), await spawn(stack.waiting('here'))];
    const waiting = client.call('await', { handles, mode: 'any' });
    await stack.release(handles[1]);
    expect((await waiting).structured).toMatchObject({
      done: true,
      runs: [{ status: 'Running' }, { status: 'Completed', result: 'here' }],
    });
    await stack.release(handles[0]);
  });

  it('is told that time is up, and goes on waiting with the same handle', async () => {
    const handles = [await spawn(stack.waiting('at last'))];
    const early = await client.call('await', { handles, timeoutSeconds: 0.2 });
    expect(early.isError).toBe(false);
    expect(early.structured).toMatchObject({ done: false, runs: [{ status: 'Running' }] });
    expect(early.text).toContain('await again');
    const waiting = client.call('await', { handles });
    await stack.release(handles[0]);
    expect((await waiting).structured).toMatchObject({ done: true, runs: [{ result: 'at last' }] });
  });

  it('hears of progress while it waits', async () => {
    const handle = await spawn(stack.waiting('heard'));
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
    await stack.release(handle);
    expect((await waiting).structured).toMatchObject({ done: true });
    expect(seen[2]?.message).toContain('0 of 1 ended');
    expect(seen[2]?.message).toContain(`${handle}: model turn 1`);
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
    const handle = await spawn(stack.waiting('never'));
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
    const handle = await spawn(stack.saying('seen'));
    await client.call('await', { handles: [handle] });
    expect((await client.call('status', { handle })).structured).toMatchObject({
      handle,
      status: 'Completed',
      toolCalls: 1,
      failedToolCalls: 1,
      usage: { turns: 2 },
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
    const arguments_ = await client.call('spawn', { task: 'x', colour: 'red' });
    expect(arguments_.isError).toBe(true);
    expect(arguments_.text).toContain('colour');
    const time = await client.call('await', { handles: [unknown], timeoutSeconds: 601 });
    expect(time.isError).toBe(true);
    expect(time.text).toContain('timeoutSeconds');
  });

  it('lists the tools of sub-agents', async () => {
    const { structured, text } = await client.call('tools');
    expect(structured['tools']).toMatchObject([
      { name: 'desk__lookup', server: 'desk' },
      { name: 'desk__erase' },
    ]);
    expect(text).toContain('desk__erase [destructive]');
  });

  it('gets a long answer cut, with a note', async () => {
    const { text } = await client.call('run', { task: stack.saying(`HEAD${'x'.repeat(200_000)}TAIL`) });
    expect(text).toContain('characters left out here');
    expect(text).toContain('HEAD');
    expect(text).toContain('TAIL');
    expect(text.length).toBeLessThan(62_000);
  });
});
