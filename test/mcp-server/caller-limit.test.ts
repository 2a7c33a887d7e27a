import { WorkflowNotFoundError } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import type { Caller, Handle } from '../../contracts/ids.ts';
import { CallerLimit } from '../../mcp-server/runs/caller-limit.ts';
import type { TemporalLink } from '../../mcp-server/runs/temporal-link.ts';

const ann = 'ann' as Caller;
const handleOf = (index: number): Handle => `run_${String(index).padStart(22, '0')}` as Handle;

/** Temporal as far as the limit asks it: a list that may lag, and the truth about each run. */
function fakeTemporal() {
  const asked = { lists: 0, looks: 0 };
  const listed = new Set<Handle>();
  const running = new Set<Handle>();
  const workflow = {
    async *list() {
      asked.lists += 1;
      for (const workflowId of listed) yield await Promise.resolve({ workflowId });
    },
    getHandle: (handle: Handle) => ({
      async describe() {
        asked.looks += 1;
        await Promise.resolve();
        if (!running.has(handle)) throw new WorkflowNotFoundError('gone', handle, undefined);
        return { status: { name: 'RUNNING' } };
      },
    }),
  };
  const link = { call: async (work: (client: unknown) => Promise<unknown>) => await work({ workflow }) };
  return { link: link as unknown as TemporalLink, asked, listed, running };
}

describe('the limit of runs a caller may have at work', () => {
  it('asks Temporal once for a hundred runs that are spawned at once and fit in, however late the list is', async () => {
    const { link, asked, listed, running } = fakeTemporal();
    const limit = new CallerLimit(link, () => 100);
    const start = (index: number) =>
      limit.inPlace(ann, handleOf(index), async () => {
        running.add(handleOf(index));
        // Half of them are in the list by the time the others come.
        if (index % 2 === 0) listed.add(handleOf(index));
        await Promise.resolve();
      });
    for (let index = 0; index < 50; index += 1) await start(index);
    await Promise.all(Array.from({ length: 50 }, async (_, index) => await start(50 + index)));
    expect(running.size).toBe(100);
    expect(asked).toEqual({ lists: 1, looks: 0 });
    await expect(start(100)).rejects.toThrow('100');
    expect(running.size).toBe(100);
  });

  it('looks at each run once for all who come when it seems full', async () => {
    const { link, asked, listed } = fakeTemporal();
    const limit = new CallerLimit(link, () => 40);
    // Ended all, but still in the list.
    for (let index = 0; index < 40; index += 1) listed.add(handleOf(index));
    const started: number[] = [];
    await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        await limit.inPlace(ann, handleOf(100 + index), async () => {
          started.push(index);
          await Promise.resolve();
        });
      }),
    );
    expect(started).toHaveLength(40);
    expect(asked.looks).toBeLessThanOrEqual(80 + 40);
  });

  it('lets as many in as there are places, whoever comes first', async () => {
    const { link, running, listed } = fakeTemporal();
    const limit = new CallerLimit(link, () => 10);
    for (let index = 0; index < 7; index += 1) {
      running.add(handleOf(index));
      listed.add(handleOf(index));
    }
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, async (_, index) => {
        await limit.inPlace(ann, handleOf(50 + index), async () => {
          await Promise.resolve();
          running.add(handleOf(50 + index));
        });
      }),
    );
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 3 }, () => 'fulfilled'),
      ...Array.from({ length: 5 }, () => 'rejected'),
    ]);
    running.delete(handleOf(0));
    await limit.inPlace(ann, handleOf(99), async () => {
      await Promise.resolve();
    });
  });
});
