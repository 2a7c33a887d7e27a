/** Where a proxy looks for the active one of several schedulers, and how often. */
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ProxyId } from '../../../contracts/ids.ts';
import { defaultLimits } from '../../../proxy/limits.ts';
import { LinkClient } from '../../../proxy/link/link-client.ts';
import type { LinkCarrier, LinkEvents } from '../../../proxy/link/link-transport.ts';
import { LiveTurns } from '../../../proxy/link/live-turns.ts';
import { ReplicaPool } from '../../../proxy/link/replica-pool.ts';
import { RunRegistry } from '../../../proxy/link/run-registry.ts';

interface Scheduler extends LinkCarrier {
  /** Its links so far, as it may end them. */
  readonly asked: LinkEvents[];
  role: 'active' | 'standby';
}

function scheduler(url: string, role: 'active' | 'standby'): Scheduler {
  const own: Scheduler = {
    url,
    role,
    asked: [],
    open(events) {
      own.asked.push(events);
      queueMicrotask(() => {
        if (own.role === 'active') events.opened();
        else {
          events.answered(503);
          events.lost();
        }
      });
      return { send: () => {}, sendSoon: () => {}, close: async () => {} };
    },
  };
  return own;
}

const warnings: string[] = [];
const logger = pino(
  { level: 'warn' },
  { write: (line: string) => void warnings.push((JSON.parse(line) as { msg: string }).msg) },
);

function link(schedulers: readonly Scheduler[]): LinkClient {
  const client = new LinkClient(schedulers, 'p1' as ProxyId);
  const runs = new RunRegistry({ maxRuns: 10, forgetAfterMs: 1_000 });
  const turns = new LiveTurns({ runs, send: () => {}, sendSoon: () => {}, nowMs: Date.now, maxHeld: 10 });
  client.start({ turns, runs, pool: new ReplicaPool(), logger, nowMs: Date.now, limits: defaultLimits });
  return client;
}

beforeEach(() => {
  vi.useFakeTimers();
  warnings.length = 0;
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a proxy with several schedulers', () => {
  it('finds the active one at once, whichever it is, and says nothing of those that stand by', async () => {
    const all = [scheduler('a', 'standby'), scheduler('b', 'standby'), scheduler('c', 'active')];
    const client = link(all);
    await vi.advanceTimersByTimeAsync(1);
    expect(client).toMatchObject({ connected: true, url: 'c' });
    expect(warnings).toEqual([]);
    await client.close();
  });

  it('asks the others at once when its link is lost', async () => {
    const [a, b] = [scheduler('a', 'active'), scheduler('b', 'standby')];
    const client = link([a, b]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(client.url).toBe('a');
    a.role = 'standby';
    b.role = 'active';
    a.asked[0]?.lost();
    expect(client.connected).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(client).toMatchObject({ connected: true, url: 'b' });
    await client.close();
  });

  it('asks round after round while nobody is active, and less often after a while', async () => {
    const [a, b] = [scheduler('a', 'standby'), scheduler('b', 'standby')];
    const client = link([a, b]);
    await vi.advanceTimersByTimeAsync(3_000);
    const soon = a.asked.length;
    expect(soon).toBeGreaterThan(15);
    expect(Math.abs(a.asked.length - b.asked.length)).toBeLessThanOrEqual(1);
    await vi.advanceTimersByTimeAsync(60_000);
    const until = a.asked.length;
    expect(until - soon).toBeLessThan(90);
    b.role = 'active';
    await vi.advanceTimersByTimeAsync(1_001);
    expect(client).toMatchObject({ connected: true, url: 'b' });
    expect(warnings).toEqual([]);
    await client.close();
  });

  it('does not spin on links that end as soon as they are open', async () => {
    const [a, b] = [scheduler('a', 'active'), scheduler('b', 'active')];
    const client = link([a, b]);
    for (let ms = 0; ms < 2_000; ms += 1) {
      await vi.advanceTimersByTimeAsync(1);
      if (client.connected) [a, b][client.url === 'a' ? 0 : 1]?.asked.at(-1)?.lost();
    }
    expect(a.asked.length + b.asked.length).toBeLessThan(40);
    await client.close();
  });
});

it('a proxy with one scheduler asks it every second', async () => {
  const only = scheduler('a', 'standby');
  const client = link([only]);
  await vi.advanceTimersByTimeAsync(10_100);
  expect(only.asked).toHaveLength(11);
  await client.close();
});
