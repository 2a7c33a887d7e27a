/** A changed configuration file takes effect in a stack under load; no turn and no tool call is dropped. */
import { renameSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configViewSchema, type ConfigView } from '../../contracts/config-status.ts';
import { eventually } from '../cli/run-up.ts';
import { startTestStack, type TestStack } from '../stack/start-test-stack.ts';

/** The promise: a change is in force within this. */
const promisedMs = 2_000;

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ fromFile: true, replica: { maxConcurrent: 2 } });
});
afterAll(async () => await stack.close());

interface Written {
  readonly pool: readonly { readonly id: string }[];
  readonly tools: { readonly mcpServers: Readonly<Record<string, unknown>> };
}
const written = (): Written => stack.file.content as unknown as Written;

/** As an editor does. */
function write(text: string): void {
  writeFileSync(`${stack.file.path}.new`, text);
  renameSync(`${stack.file.path}.new`, stack.file.path);
}

/** @returns milliseconds until `holds`. */
async function changeUntil(content: object, holds: () => Promise<boolean>): Promise<number> {
  const startedMs = performance.now();
  write(JSON.stringify(content));
  await eventually('the change is in force', holds);
  return performance.now() - startedMs;
}

async function turn(task: string, headers: Record<string, string> = {}): Promise<[number, string]> {
  const response = await fetch(`${stack.proxyUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: task }] }),
  });
  return [response.status, await response.text()];
}

/** Agents that ask one turn after the other until they are stopped; what each turn was answered with. */
function startLoad(agents: number): { stop(): Promise<number[]> } {
  const stop = new AbortController();
  const statuses: number[] = [];
  const agent = async (index: number): Promise<void> => {
    for (let count = 0; !stop.signal.aborted; count += 1) {
      const [status] = await turn(`Agent ${index} asks ${count}. [[sim {"answerTokens":20}]]`);
      statuses.push(status);
    }
  };
  const all = Promise.all(Array.from({ length: agents }, async (_, index) => await agent(index)));
  return {
    async stop() {
      stop.abort();
      await all;
      return statuses;
    },
  };
}

const configView = async (): Promise<ConfigView> =>
  configViewSchema.parse(await (await fetch(new URL('/api/config', stack.mcpUrl))).json());
const toolNames = async (): Promise<string> => JSON.stringify(await stack.client.call('tools', {}));

describe('a configuration file that is changed under load', () => {
  it('takes effect within two seconds, and no turn in flight or held is dropped', async () => {
    const [first, second] = stack.engines;
    if (first === undefined || second === undefined) throw new Error('two engines');
    const load = startLoad(8);
    const inFlight = first.holdNext();
    const record = await inFlight.arrived;
    const held = async (): Promise<boolean> => (await stack.status()).held.length > 0;
    await eventually('turns are held', held);

    const [, onlySecond] = written().pool;
    const tookMs: number[] = [];
    for (const share of [0.2, 0.3, 0.4]) {
      const content = { ...written(), pool: [onlySecond], policy: { batchShare: share } };
      const inForce = async (): Promise<boolean> => (await stack.status()).policy.batchShare === share;
      tookMs.push(await changeUntil(content, inForce));
    }
    // The fastest of three: this machine may stand still in between.
    expect(Math.min(...tookMs)).toBeLessThan(promisedMs);

    const before = first.requests().length;
    const answered = second.requests().length;
    await eventually('turns go on at the other', () => second.requests().length > answered + 10);
    expect(first.requests().length).toBe(before);
    expect(record.phase).not.toBe('aborted');
    inFlight.release();
    const statuses = await load.stop();
    expect(statuses.length).toBeGreaterThan(10);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    await changeUntil(written(), async () => (await stack.status()).replicas.length === 2);
  });

  it('gives new weights and limits to callers at once', async () => {
    const headers = { 'x-fermata-caller': 'farm' };
    expect((await turn('Before.', headers))[0]).toBe(200);
    const limited = async (): Promise<boolean> => (await turn('More.', headers))[0] === 429;
    await changeUntil({ ...written(), callers: { farm: { requestsPerMinute: 1 } } }, limited);
    await changeUntil(written(), async () => !(await limited()));
  });

  it('limits the runs that a caller may have at work', async () => {
    const inForce = async (): Promise<boolean> => (await configView()).config?.callers['*']?.maxRunning === 1;
    await changeUntil({ ...written(), callers: { '*': { maxRunning: 1 } } }, inForce);
    const waits = '[[sim {"calls":[{"tool":"web__wait","arguments":{"milliseconds":600000}}]}]]';
    const { handle } = await stack.client.call('spawn', { task: `One. ${waits}` });
    await expect(stack.client.call('spawn', { task: `Two. ${waits}` })).rejects.toThrow(
      'you have 1 runs at work',
    );
    await stack.client.call('cancel', { handle });
    await changeUntil(
      written(),
      async () => Object.keys((await configView()).config?.callers ?? {}).length === 0,
    );
  });

  it('lets a tool call in flight end on a server that is removed, and offers one that is added', async () => {
    const task =
      '[[sim {"calls":[{"tool":"web__wait","arguments":{"milliseconds":4000}}],"answer":"All done."}]]';
    const { handle } = await stack.client.call('spawn', { task });
    await stack.tools.waitFor((calls) => calls.running > 0);
    await changeUntil(
      { ...written(), tools: { mcpServers: { other: written().tools.mcpServers['web'] } } },
      async () => (await toolNames()).includes('other__wait'),
    );
    expect(await toolNames()).not.toContain('web__');
    const { runs } = await stack.client.call('await', { handles: [handle], timeoutSeconds: 60 });
    expect(runs).toMatchObject([{ status: 'Completed' }]);
    expect(JSON.stringify(runs)).toContain('All done.');
    await changeUntil(written(), async () => (await toolNames()).includes('web__wait'));
  });

  it('changes nothing when it is broken, says so where people look, and works again once it is mended', async () => {
    const load = startLoad(4);
    const before = await stack.status();
    write('pool:\n  - id: sim-0\n    url: nowhere\n');
    const fault = async (): Promise<string> => (await stack.status()).config?.fault?.lines.join() ?? '';
    await eventually('the fault is told', async () => (await fault()) !== '');
    expect(await fault()).toBe('line 3, column 5: pool[0].url: must be an http:// or https:// address');
    const { services } = await configView();
    expect(services.map(({ config }) => config?.fault?.lines[0])).toEqual([await fault(), await fault()]);
    const now = await stack.status();
    expect(now.replicas.map(({ id, url }) => [id, url])).toEqual(
      before.replicas.map(({ id, url }) => [id, url]),
    );
    expect([now.policy, now.config?.loadedAt]).toEqual([before.policy, before.config?.loadedAt]);
    const mended = { ...written(), policy: { batchShare: 0.5 } };
    await changeUntil(mended, async () => (await stack.status()).policy.batchShare === 0.5);
    expect(await fault()).toBe('');
    const statuses = await load.stop();
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
  });
});
