import { describe, expect, it } from 'vitest';
import { call, failureOf, isAlive, noSignal, tool, useScriptedServers } from './scripted-servers.ts';

const servers = useScriptedServers();
const { config: scripted, open, logged } = servers;

describe('a list of tools (M06)', () => {
  it('has all pages', async () => {
    const names = Array.from({ length: 101 }, (_unused, index) => `t${index}`);
    const pages = {
      '': { tools: names.slice(0, 50).map((name) => tool(name)), nextCursor: 'two' },
      two: { tools: names.slice(50, 100).map((name) => tool(name)), nextCursor: 'three' },
      three: { tools: names.slice(100).map((name) => tool(name)) },
    };
    const { tools, warnings } = await open({ s: scripted({ pages }) }).list(null, noSignal);
    expect(tools.map((one) => one.serverTool)).toEqual(names);
    expect(tools[100]?.name).toBe('s__t100');
    expect(warnings).toEqual([]);
    expect(logged().filter((entry) => entry.method === 'tools/list')).toHaveLength(3);
  });

  it('ends with a warning where its pages run in a circle', async () => {
    const pages = {
      '': { tools: [tool('a')], nextCursor: 'x' },
      x: { tools: [tool('b'), tool('a')], nextCursor: 'x' },
    };
    const { tools, warnings } = await open({ s: scripted({ pages }) }).list(null, noSignal);
    expect(tools.map((one) => one.name)).toEqual(['s__a', 's__b']);
    expect(warnings).toEqual([expect.stringContaining('circle')]);
  });

  it('is asked for again after the server said that it changed', async () => {
    const registry = open({ s: scripted({ tools: [tool('a')], listChanged: true }) });
    await registry.list(null, noSignal);
    await registry.list(null, noSignal);
    await expect
      .poll(async () => {
        await registry.list(null, noSignal);
        return logged().filter((entry) => entry.method === 'tools/list').length;
      })
      .toBeGreaterThan(1);
  });

  it('leaves out a server that hangs, after five seconds and with a warning, and keeps the others', async () => {
    const startedMs = performance.now();
    const registry = open({
      good: scripted({ tools: [tool('a')] }),
      mute: scripted({ silent: ['initialize'] }),
      gone: scripted({}, { command: '/no/such/program' }),
    });
    const { tools, warnings } = await registry.list(null, noSignal);
    expect(performance.now() - startedMs).toBeLessThan(9_000);
    expect(tools.map((one) => one.name)).toEqual(['good__a']);
    expect(warnings).toEqual([
      expect.stringContaining('mute: did not answer within 5 s'),
      expect.stringMatching(/^gone: .*ENOENT/),
    ]);
    const againMs = performance.now();
    expect((await registry.list(null, noSignal)).tools).toHaveLength(1);
    expect(performance.now() - againMs).toBeLessThan(4_000);
  });

  it('is read past a banner and other noise on stdout (M04)', async () => {
    const banner = ['Starting tool server v1.2', '', '{"lvl": "debug", "text": "pool warmed"}', '42'];
    const { tools } = await open({ s: scripted({ banner, tools: [tool('a')] }) }).list(null, noSignal);
    expect(tools.map((one) => one.name)).toEqual(['s__a']);
  });
});

describe('a long call (M03)', () => {
  const limits = { idleTimeoutMs: 600, totalTimeoutMs: 60_000 };

  it('lives on while the server reports progress, with the token it was sent', async () => {
    const registry = open({
      s: scripted({ onCall: { slow: { progressEveryMs: 100, resultAfterMs: 1_500 } } }, limits),
    });
    const result = await registry.call('s', call('slow'), noSignal);
    expect(result.content).toEqual([{ type: 'text', text: 'ok' }]);
    const sent = logged().find((entry) => entry.method === 'tools/call');
    expect(sent?.params?._meta).toMatchObject({
      progressToken: expect.anything() as unknown,
      'fermata/idempotencyKey': 'run_1:c1',
    });
  });

  it('that is silent ends at the idle limit, and the server is told', async () => {
    const failure = await failureOf(open({ s: scripted({}, limits) }).call('s', call('mute'), noSignal));
    expect(failure).toMatchObject({
      outcome: 'unknown',
      message: expect.stringContaining('0.6 s') as string,
    });
    await expect.poll(() => logged().some((entry) => entry.method === 'notifications/cancelled')).toBe(true);
  });

  it('that never ends is ended at the total limit, and the server is told', async () => {
    const config = scripted(
      { onCall: { endless: { progressEveryMs: 100 } } },
      { idleTimeoutMs: 600, totalTimeoutMs: 1_500 },
    );
    const failure = await failureOf(open({ s: config }).call('s', call('endless'), noSignal));
    expect(failure).toMatchObject({
      outcome: 'unknown',
      message: expect.stringContaining('1.5 s') as string,
    });
    await expect.poll(() => logged().some((entry) => entry.method === 'notifications/cancelled')).toBe(true);
  });

  it('that is cancelled tells the server', async () => {
    const abort = new AbortController();
    const running = open({ s: scripted({}) }).call('s', call('long'), abort.signal);
    running.catch(() => undefined);
    await expect.poll(() => logged().some((entry) => entry.method === 'tools/call')).toBe(true);
    abort.abort();
    await expect(running).rejects.toThrow(/abort/i);
    await expect.poll(() => logged().some((entry) => entry.method === 'notifications/cancelled')).toBe(true);
  });
});

describe('a call that fails', () => {
  it('is refused when the server says no', async () => {
    const onCall = { bad: { error: { code: -32602, message: 'no such tool: bad' } } };
    const failure = await failureOf(open({ s: scripted({ onCall }) }).call('s', call('bad'), noSignal));
    expect(failure).toMatchObject({
      outcome: 'refused',
      message: expect.stringContaining('no such tool: bad') as string,
    });
  });

  it('has an unknown outcome when the server dies under it, and the next call starts a new one', async () => {
    const registry = open({ s: scripted({ onCall: { die: { exit: true }, live: { resultAfterMs: 0 } } }) });
    expect(await failureOf(registry.call('s', call('die'), noSignal))).toMatchObject({ outcome: 'unknown' });
    await registry.call('s', call('live'), noSignal);
    expect(logged().filter((entry) => entry.started !== undefined)).toHaveLength(2);
    expect(logged().filter((entry) => entry.method === 'tools/call')).toHaveLength(2);
  });

  it('was not sent when the server cannot be started, or is none of this worker', async () => {
    const registry = open({ s: scripted({}, { command: '/no/such/program' }) });
    expect(await failureOf(registry.call('s', call('x'), noSignal))).toMatchObject({ outcome: 'not-sent' });
    expect(await failureOf(registry.call('s', call('x'), noSignal))).toMatchObject({
      outcome: 'not-sent',
      message: expect.stringContaining('tried again in') as string,
    });
    expect(await failureOf(registry.call('other', call('x'), noSignal))).toMatchObject({
      outcome: 'not-sent',
    });
  });
});

describe('a server that crashes', () => {
  it('again and again is waited for by calls, and keeps its tools in the lists of new runs', async () => {
    const script = { tools: [tool('die'), tool('live')], onCall: { die: { exit: true } } };
    const registry = open({
      s: scripted({ ...script, onCall: { ...script.onCall, live: { resultAfterMs: 0 } } }),
    });
    const names = async (): Promise<readonly string[]> =>
      (await registry.list(null, noSignal)).tools.map(({ serverTool }) => serverTool);
    expect(await names()).toEqual(['die', 'live']);
    await failureOf(registry.call('s', call('die'), noSignal));
    await failureOf(registry.call('s', call('die'), noSignal));
    // Its restart is due in a second.
    expect(await names()).toEqual(['die', 'live']);
    await registry.call('s', call('live'), noSignal);
    expect(logged().filter((entry) => entry.started !== undefined)).toHaveLength(3);
  });

  it('takes along what it started', async () => {
    const registry = open({ s: scripted({ grandchild: true, onCall: { die: { exit: true } } }) });
    await failureOf(registry.call('s', call('die'), noSignal));
    const pids = logged().flatMap((entry) => entry.grandchild ?? []);
    expect(pids).toHaveLength(1);
    await expect.poll(() => pids.filter(isAlive)).toEqual([]);
  });
});

describe('closing', () => {
  it('ends the process and what it started, even where they ignore being asked', async () => {
    const registry = open({
      s: scripted({ tools: [tool('a')], ignoreTerm: true, ignoreStdinEnd: true, grandchild: true }),
    });
    await registry.list(null, noSignal);
    const pids = logged().flatMap((entry) => [entry.started ?? [], entry.grandchild ?? []].flat());
    expect(pids).toHaveLength(2);
    await registry.close();
    await expect.poll(() => pids.filter(isAlive)).toEqual([]);
  });
});
