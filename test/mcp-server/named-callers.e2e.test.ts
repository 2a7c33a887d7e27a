/** Promise: no caller sees another's runs. Named tokens over MCP, every part behind its door. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { schedulerStatusSchema } from '../../contracts/scheduler-status.ts';
import { bearer, namedToken, serviceToken, testAccess, tokenOf } from '../auth/test-access.ts';
import { connectClient, type ClientKind, type TestClient } from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    access: testAccess([
      namedToken('ann'),
      namedToken('bob'),
      namedToken('farm', { class: 'batch' }),
      namedToken('ops', { admin: true }),
    ]),
  });
});
afterAll(async () => {
  await stack.close();
});

const neverWas = 'run_0000000000000000000000';

describe.each(['modern', 'legacy', 'sdk'] as const)('with a %s client', (kind: ClientKind) => {
  const clients: Record<string, TestClient> = {};
  const as = (name: string): TestClient => {
    const client = clients[name];
    if (client === undefined) throw new Error(`nobody is called ${name}`);
    return client;
  };
  beforeAll(async () => {
    // All with the same client name, from the same address.
    for (const name of ['ann', 'bob', 'farm', 'ops']) {
      clients[name] = await connectClient(kind, stack.mcpUrl, 'same', bearer(tokenOf(name)));
    }
    clients['services'] = await connectClient(kind, stack.mcpUrl, 'same', bearer(serviceToken));
  });
  afterAll(async () => {
    for (const client of Object.values(clients)) await client.close();
  });

  async function spawn(name: string, task: string, over: Record<string, unknown> = {}): Promise<string> {
    const { structured, isError, text } = await as(name).call('spawn', { task, ...over });
    expect([isError, text]).toEqual([false, text]);
    return String(structured['handle']);
  }

  it('a run is its caller\u2019s: for another, each tool answers as for a run that never was', async () => {
    const held = stack.holding('for ann alone');
    const handle = await spawn('ann', held.task);
    await held.held;
    for (const [tool, args] of [
      ['status', (id: string) => ({ handle: id })],
      ['await', (id: string) => ({ handles: [id], timeoutSeconds: 0 })],
      ['await', (id: string) => ({ handles: [id], mode: 'any', timeoutSeconds: 0.1 })],
      ['cancel', (id: string) => ({ handle: id })],
      ['cancel', (id: string) => ({ handle: id, reason: 'not mine' })],
      ['approve', (id: string) => ({ handle: id, allow: true })],
      ['approve', (id: string) => ({ handle: id, allow: false, approvalId: 'apr_0000000000000000' })],
    ] as const) {
      const other = await as('bob').call(tool, args(handle));
      const none = await as('bob').call(tool, args(neverWas));
      expect(other.isError).toBe(true);
      expect(other.text.replace(handle, 'X')).toBe(none.text.replace(neverWas, 'X'));
      expect(JSON.stringify(other.structured)).toBe(JSON.stringify(none.structured));
    }
    // The cancels of bob's would have reached it by now: its next turn is still held by this test.
    expect((await as('ann').call('status', { handle })).structured).toMatchObject({ status: 'Running' });
    held.release();
    const done = await as('ann').call('await', { handles: [handle] });
    expect(done.structured).toMatchObject({ runs: [{ status: 'Completed', result: 'for ann alone' }] });
    const after = await as('bob').call('status', { handle });
    expect(after.text).not.toContain('for ann alone');
    expect(after.isError).toBe(true);
  });

  it('a call that waits is decided by its caller or an admin, and by nobody else', async () => {
    const spawned = await Promise.all(
      [0, 1].map(
        async () => await spawn('ann', stack.lookingUp('decided'), { approveTools: ['desk__lookup'] }),
      ),
    );
    for (const [index, handle] of spawned.entries()) {
      const { id } = await eventually(async () => {
        const { structured } = await as('ann').call('status', { handle });
        return (structured['pendingApproval'] ?? null) as { id: string } | null;
      });
      for (const args of [{}, { approvalId: id }]) {
        const other = await as('bob').call('approve', { handle, allow: true, ...args });
        expect([other.isError, other.text.includes('unknown handle')]).toEqual([true, true]);
      }
      const by = index === 0 ? 'ann' : 'ops';
      const decided = await as(by).call('approve', { handle, allow: true, approvalId: id });
      expect(decided.structured).toMatchObject({ outcome: 'accepted', by });
    }
    const { structured } = await as('ann').call('await', { handles: spawned });
    expect(structured).toMatchObject({ done: true, runs: [{ result: 'decided' }, { result: 'decided' }] });
  });

  it('one unknown handle among one\u2019s own is named, and only that one', async () => {
    const anns = await spawn('ann', stack.saying('a'));
    const bobs = await spawn('bob', stack.saying('b'));
    const { isError, text } = await as('bob').call('await', { handles: [bobs, anns] });
    expect([isError, text.includes(anns), text.includes(bobs)]).toEqual([true, true, false]);
  });

  it('the same request id of two callers is two runs, and a repeat is one\u2019s own', async () => {
    const requestId = `the-same-${kind}`;
    const task = stack.saying('same');
    const anns = await spawn('ann', task, { requestId });
    const bobs = await spawn('bob', task, { requestId });
    expect(anns).not.toBe(bobs);
    expect(await spawn('ann', task, { requestId })).toBe(anns);
    const conflict = await as('bob').call('spawn', { task: stack.saying('else'), requestId });
    expect([conflict.isError, conflict.text.includes(bobs), conflict.text.includes(anns)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('the list has one\u2019s own runs, whichever client it is asked by', async () => {
    const mine = await spawn('ann', stack.saying('listed'));
    const theirs = await spawn('bob', stack.saying('listed'));
    await as('ann').call('await', { handles: [mine] });
    await as('bob').call('await', { handles: [theirs] });
    const again = await connectClient(kind, stack.mcpUrl, 'another-name', bearer(tokenOf('ann')));
    const list = await eventually(async () => {
      const { text } = await again.call('status');
      return text.includes(mine) ? text : null;
    });
    await again.close();
    expect(list).not.toContain(theirs);
  });

  it('an admin and whoever has the service token see and end the runs of anyone', async () => {
    for (const name of ['ops', 'services']) {
      const held = stack.holding('never');
      const handle = await spawn('ann', held.task);
      await held.held;
      expect((await as(name).call('status', { handle })).structured).toMatchObject({ status: 'Running' });
      expect((await as(name).call('cancel', { handle })).structured).toMatchObject({ reached: 1 });
      const { structured } = await as('ann').call('await', { handles: [handle] });
      expect(structured).toMatchObject({ runs: [{ status: 'Cancelled' }] });
      held.release();
    }
  });

  it('a caller that may only have batch gets batch, also in its decisions', async () => {
    const held = stack.holding('batched');
    const spawned = await as('farm').call('spawn', { task: held.task, serviceClass: 'interactive' });
    expect(spawned.structured['notes']).toEqual(['your token allows batch only, so the run is one of batch']);
    const handle = String(spawned.structured['handle']);
    await held.held;
    const runs = async () =>
      schedulerStatusSchema.parse(
        await (await fetch(`${stack.schedulerUrl}/status`, { headers: bearer(serviceToken) })).json(),
      ).runs;
    expect((await runs()).find(({ run }) => run === handle)).toMatchObject({
      caller: 'farm',
      class: 'batch',
    });
    held.release();
    await as('farm').call('await', { handles: [handle] });
    const before = await turnsByClass();
    const { isError } = await as('farm').call('decide', { input: 'is it?', labels: ['yes', 'no'] });
    expect(isError).toBe(false);
    expect(await turnsByClass()).toEqual({ ...before, batch: (before['batch'] ?? 0) + 1 });
  });

  /** Turns that ended so far, by class, from the proxy's own count. */
  async function turnsByClass(): Promise<Record<string, number>> {
    const text = await (await fetch(`${stack.proxyUrl}/metrics`)).text();
    const counts: Record<string, number> = {};
    for (const [, labels, count] of text.matchAll(
      /^fermata_proxy_turn_duration_seconds_count\{(.*)\} (\d+)$/gm,
    )) {
      const of = /class="(\w+)"/.exec(labels ?? '')?.[1] ?? '';
      counts[of] = (counts[of] ?? 0) + Number(count);
    }
    return counts;
  }
});

/** Temporal's lists follow within about a second. */
async function eventually<T>(look: () => Promise<T | null>): Promise<T> {
  const deadline = performance.now() + 15_000;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > deadline) throw new Error('waited in vain');
  }
}
