/** Other tool servers are put in force while calls are in flight. */
import { describe, expect, it } from 'vitest';
import { call, failureOf, isAlive, noSignal, tool, useScriptedServers } from './scripted-servers.ts';

const servers = useScriptedServers();
const { config: scripted, open, pids, sent } = servers;

const names = async (registry: ReturnType<typeof open>): Promise<string[]> =>
  (await registry.list(null, noSignal)).tools.map(({ name }) => name);

describe('tool servers that are reconfigured', () => {
  it('are listed in the order of the file as they are now', async () => {
    const a = scripted({ tools: [tool('one')] });
    const registry = open({ a, b: scripted({ tools: [tool('two')] }) });
    expect(await names(registry)).toEqual(['a__one', 'b__two']);
    registry.reconfigure({ c: scripted({ tools: [tool('three')] }), a });
    expect(await names(registry)).toEqual(['c__three', 'a__one']);
    registry.reconfigure({});
    expect(await names(registry)).toEqual([]);
  });

  it('keep their process when their entry is the same', async () => {
    const entry = scripted({ tools: [tool('one')], onCall: { one: { resultAfterMs: 1 } } });
    const registry = open({ a: entry, b: scripted({ tools: [tool('two')] }) });
    await names(registry);
    const before = pids();
    registry.reconfigure({ a: structuredClone(entry) });
    await expect.poll(() => before.filter(isAlive)).toHaveLength(1);
    await registry.call('a', call('one'), noSignal);
    expect(pids()).toEqual(before);
  });

  it('let a call in flight end where it was sent, and end their process after it', async () => {
    const slow = {
      onCall: { slow: { resultAfterMs: 1_500, result: { content: [{ type: 'text', text: 'old' }] } } },
    };
    const registry = open({ a: scripted({ tools: [tool('slow')], ...slow }) });
    const inFlight = registry.call('a', call('slow'), noSignal);
    await expect.poll(() => sent('tools/call')).toHaveLength(1);
    const [old] = pids();
    const livesAtItsEnd = inFlight.then(() => isAlive(old ?? 0));
    registry.reconfigure({
      a: scripted({ tools: [tool('slow'), tool('new')], onCall: { new: { resultAfterMs: 1 } } }),
    });
    expect(await names(registry)).toEqual(['a__slow', 'a__new']);
    await registry.call('a', call('new'), noSignal);
    expect((await inFlight).content).toEqual([{ type: 'text', text: 'old' }]);
    expect(await livesAtItsEnd).toBe(true);
    await expect.poll(() => isAlive(old ?? 0), { timeout: 10_000 }).toBe(false);
  });

  it('refuse calls once they are removed, without sending them', async () => {
    const registry = open({ a: scripted({ tools: [tool('one')] }) });
    await names(registry);
    registry.reconfigure({});
    const failure = await failureOf(registry.call('a', call('one'), noSignal));
    expect(failure).toMatchObject({ outcome: 'not-sent', message: "this worker has no tool server 'a'" });
    expect(sent('tools/call')).toEqual([]);
  });

  it('end with the worker when they still have a call in flight', async () => {
    const registry = open({ a: scripted({ onCall: { slow: { resultAfterMs: 60_000 } } }) });
    const inFlight = registry.call('a', call('slow'), noSignal);
    inFlight.catch(() => undefined);
    await expect.poll(() => sent('tools/call')).toHaveLength(1);
    registry.reconfigure({});
    await registry.close();
    expect((await failureOf(inFlight)).message).not.toBe('it did not fail');
    await expect.poll(() => pids().filter(isAlive), { timeout: 10_000 }).toEqual([]);
  });
});
