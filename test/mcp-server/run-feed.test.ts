import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Caller } from '../../contracts/ids.ts';
import { policySchema } from '../../contracts/config-file.ts';
import type { SchedulerStatus } from '../../contracts/scheduler-status.ts';
import { RunFeed, type FeedListener, type RunFeedOptions } from '../../mcp-server/runs/run-feed.ts';
import type { RunView } from '../../mcp-server/runs/run-view.ts';
import { madeRun } from './made-run.ts';

const startMs = 1_000_000;
beforeEach(() => {
  vi.useFakeTimers({ now: startMs });
});
afterEach(() => {
  vi.useRealTimers();
});

const pool: SchedulerStatus = {
  replicas: [],
  held: [],
  runsByPhase: {},
  runs: [],
  proxies: 1,
  policy: policySchema.parse({}),
};

/** A feed over what the test says there is. */
function makeFeed(options: RunFeedOptions = {}) {
  const world = { runs: [] as RunView[], pool, looks: 0, fault: null as Error | null };
  const feed = new RunFeed(
    {
      look: async () => {
        world.looks += 1;
        if (world.fault !== null) throw world.fault;
        return await Promise.resolve(world.runs);
      },
      pool: async () => await Promise.resolve(world.pool),
    },
    options,
  );
  return { feed, world };
}

class Ear implements FeedListener {
  readonly asker: FeedListener['asker'];
  readonly heard: string[] = [];
  lastId: string | null = null;

  constructor(caller: string, seesAll = false) {
    this.asker = { caller: caller as Caller, seesAll };
  }
  onReady({ id, missed }: { id: string; missed: boolean }): void {
    this.lastId = id;
    this.heard.push(missed ? 'ready, missed' : 'ready');
  }
  onChange({ id, change }: Parameters<FeedListener['onChange']>[0]): void {
    this.lastId = id;
    this.heard.push(`${change.change} ${change.run.summary}`);
  }
  onPool({ status, fault }: Parameters<FeedListener['onPool']>[0]): void {
    this.heard.push(status === null ? `pool: ${fault}` : `pool: ${status.proxies}`);
  }
  onTrouble(words: string | null): void {
    this.heard.push(`trouble: ${words}`);
  }
}

describe('the feed of changes', () => {
  it('looks once a second for all who listen together, and never when nobody does', async () => {
    const { feed, world } = makeFeed();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(world.looks).toBe(0);
    const leaves = await Promise.all([1, 2, 3].map(async () => await feed.join(new Ear('ann', true), null)));
    expect(world.looks).toBe(1);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(world.looks).toBe(6);
    for (const leave of leaves) leave();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(world.looks).toBe(6);
  });

  it('tells each what it may see, and an admin everything', async () => {
    const { feed, world } = makeFeed();
    const [ann, bob, ops] = [new Ear('ann'), new Ear('bob'), new Ear('ops', true)];
    for (const ear of [ann, bob, ops]) await feed.join(ear, null);
    world.runs = [madeRun('a'), madeRun('b', { caller: 'bob' })];
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ann.heard).toEqual(['ready', 'pool: 1', 'started task of a']);
    expect(bob.heard).toEqual(['ready', 'pool: 1', 'started task of b']);
    expect(ops.heard).toEqual(['ready', 'pool: 1', 'started task of b', 'started task of a']);
  });

  it('says first that it is ready, and tells nothing of what was there before', async () => {
    const { feed, world } = makeFeed();
    world.runs = [madeRun('a')];
    const ear = new Ear('ann');
    await feed.join(ear, null);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(ear.heard).toEqual(['ready', 'pool: 1']);
  });

  it('tells who comes back what it missed, also when nobody listened meanwhile', async () => {
    const { feed, world } = makeFeed();
    const ear = new Ear('ann');
    const leave = await feed.join(ear, null);
    world.runs = [madeRun('a')];
    await vi.advanceTimersByTimeAsync(1_000);
    leave();
    await vi.advanceTimersByTimeAsync(30_000);
    world.runs = [madeRun('b'), madeRun('a', { phase: 'model turn 2' })];
    const again = new Ear('ann');
    await feed.join(again, ear.lastId);
    expect(again.heard).toEqual(['ready', 'phase task of a', 'started task of b', 'pool: 1']);
    const third = new Ear('ann');
    await feed.join(third, ear.lastId);
    expect(third.heard).toEqual(again.heard);
    const other = new Ear('bob');
    await feed.join(other, ear.lastId);
    expect(other.heard).toEqual(['ready', 'pool: 1']);
  });

  it('says so when what was missed cannot be told: too much, too late, or of another server', async () => {
    const { feed, world } = makeFeed({ maxKept: 2, keepMs: 60_000 });
    const ear = new Ear('ann');
    const leave = await feed.join(ear, null);
    const first = ear.lastId;
    world.runs = [madeRun('a'), madeRun('b'), madeRun('c')];
    await vi.advanceTimersByTimeAsync(1_000);
    for (const after of [first, 'nonsense', 'ffffffffffff-1', `${first?.split('-')[0]}-99`]) {
      const late = new Ear('ann');
      (await feed.join(late, after))();
      expect([after, late.heard[0]]).toEqual([after, 'ready, missed']);
    }
    leave();
    await vi.advanceTimersByTimeAsync(61_000);
    const later = new Ear('ann');
    await feed.join(later, ear.lastId);
    expect(later.heard[0]).toBe('ready, missed');
  });

  it('says when Temporal cannot be asked and when it can again, and tells what happened meanwhile', async () => {
    const { feed, world } = makeFeed();
    const ear = new Ear('ann');
    await feed.join(ear, null);
    world.fault = new Error('away');
    await vi.advanceTimersByTimeAsync(3_000);
    await expect(feed.join(new Ear('ann'), null)).rejects.toThrow('away');
    world.fault = null;
    world.runs = [madeRun('a')];
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ear.heard.slice(2)).toEqual(['trouble: away', 'started task of a', 'trouble: null']);
  });

  it('refuses who comes while Temporal cannot be asked, and looks no more for it', async () => {
    const { feed, world } = makeFeed();
    world.fault = new Error('away');
    await expect(feed.join(new Ear('ann'), null)).rejects.toThrow('away');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(world.looks).toBe(1);
    world.fault = null;
    await feed.join(new Ear('ann'), null);
    expect(feed.listeners).toBe(1);
  });

  it('has room for so many, and for so many of one caller', async () => {
    const { feed } = makeFeed({ maxListeners: 4, maxListenersEach: 2 });
    const leave = await feed.join(new Ear('ann'), null);
    await feed.join(new Ear('ann'), null);
    await expect(feed.join(new Ear('ann'), null)).rejects.toThrow('2 listen already');
    await feed.join(new Ear('bob'), null);
    await feed.join(new Ear('ops', true), null);
    await expect(feed.join(new Ear('cy'), null)).rejects.toThrow('4 listen already');
    leave();
    leave();
    await feed.join(new Ear('ann'), null);
    expect(feed.listeners).toBe(4);
  });

  it('has no more than that also when they come together', async () => {
    const { feed } = makeFeed({ maxListeners: 3 });
    const joins = [1, 2, 3, 4, 5].map(async (n) => await feed.join(new Ear(`c${n}`), null));
    const outcomes = await Promise.allSettled(joins);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(feed.listeners).toBe(3);
  });

  it('tells of the pool when it is another, but not for the time that turns have been held', async () => {
    const { feed, world } = makeFeed();
    const ear = new Ear('ann');
    await feed.join(ear, null);
    const held = { class: 'batch' as const, caller: 'x', turns: 1 };
    world.pool = { ...pool, held: [{ ...held, oldestMs: 10 }] };
    await vi.advanceTimersByTimeAsync(1_000);
    world.pool = { ...pool, held: [{ ...held, oldestMs: 1_010 }] };
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ear.heard).toEqual(['ready', 'pool: 1', 'pool: 1']);
  });

  it('waits longer after a look that took long, and never looks twice at once', async () => {
    let running = 0;
    let looks = 0;
    const feed = new RunFeed({
      look: async () => {
        looks += 1;
        running += 1;
        expect(running).toBe(1);
        await new Promise((resolve) => setTimeout(resolve, 2_000));
        running -= 1;
        return [];
      },
      pool: async () => await Promise.resolve(pool),
    });
    const joined = feed.join(new Ear('ann'), null);
    await vi.advanceTimersByTimeAsync(2_000);
    await joined;
    expect(looks).toBe(1);
    await vi.advanceTimersByTimeAsync(5_900);
    expect(looks).toBe(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(looks).toBe(2);
  });

  it('is over when it is closed', async () => {
    const { feed, world } = makeFeed();
    await feed.join(new Ear('ann'), null);
    feed.close();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(world.looks).toBe(1);
    await expect(feed.join(new Ear('ann'), null)).rejects.toThrow('stopping');
    expect(vi.getTimerCount()).toBe(0);
  });
});
