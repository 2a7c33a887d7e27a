import { describe, expect, it } from 'vitest';
import { AbortScope } from '../../mcp-server/runs/abort-scope.ts';
import { CallsInProgress } from '../../mcp-server/mcp/calls-in-progress.ts';
import { UserFault } from '../../mcp-server/runs/user-fault.ts';

/** Work that lasts until its signal ends it. */
async function untilAborted(signal: AbortSignal): Promise<string> {
  return await new Promise((resolve) => {
    if (signal.aborted) resolve('ended');
    signal.addEventListener('abort', () => resolve('ended'));
  });
}

describe('a scope of signals', () => {
  it('is aborted with any of its sources, with that one’s reason', () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const scope = new AbortScope(first.signal, second.signal);
    expect(scope.signal.aborted).toBe(false);
    second.abort(new Error('gone'));
    expect(scope.signal.reason).toEqual(new Error('gone'));
  });

  it('is aborted from the start when a source is', () => {
    expect(new AbortScope(AbortSignal.abort()).signal.aborted).toBe(true);
  });

  it('follows no more once it has ended', () => {
    const source = new AbortController();
    const scope = new AbortScope(source.signal);
    scope.end();
    source.abort();
    expect(scope.signal.aborted).toBe(false);
  });
});

describe('calls in progress', () => {
  it('end when their own source ends them, and no others do', async () => {
    const calls = new CallsInProgress();
    const source = new AbortController();
    const ended: string[] = [];
    const first = calls.run([source.signal], untilAborted).then(() => ended.push('first'));
    const second = calls.run([], untilAborted).then(() => ended.push('second'));
    source.abort();
    await first;
    expect(ended).toEqual(['first']);
    await calls.drain(1_000);
    await second;
  });

  it('are all ended when the server stops, and so are those that come later', async () => {
    const calls = new CallsInProgress();
    const waiting = calls.run([], untilAborted);
    await calls.drain(1_000);
    expect(await waiting).toBe('ended');
    expect(calls.stopping).toBe(true);
    expect(await calls.run([], untilAborted)).toBe('ended');
  });

  it('that do not end are left behind at the limit', async () => {
    const calls = new CallsInProgress();
    let end = (): void => undefined;
    const stuck = calls.run([], async () => {
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    await calls.drain(1);
    expect(calls.stopping).toBe(true);
    end();
    await stuck;
  });

  it('are bounded: one more is refused in words, and taken again when one has ended', async () => {
    const calls = new CallsInProgress(1);
    const source = new AbortController();
    const first = calls.run([source.signal], untilAborted);
    await expect(calls.run([], untilAborted)).rejects.toThrow(UserFault);
    source.abort();
    await first;
    expect(await calls.run([AbortSignal.abort()], untilAborted)).toBe('ended');
  });
});
