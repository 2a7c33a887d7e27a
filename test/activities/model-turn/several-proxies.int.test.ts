/** A worker with two proxies: what one cannot take goes to the other at once, and once. */
import { setMaxListeners } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createModelClient,
  type ModelClient,
  type TurnRequest,
} from '../../../activities/model-turn/model-client.ts';
import type { UpstreamFailure } from '../../../activities/model-turn/classify-failure.ts';
import { chunk, startFakeModel, type FakeModel, type Script } from '../fake-model.ts';

const request = (runId: string): TurnRequest => ({
  runId,
  turn: 4,
  class: 'batch',
  caller: 'tests',
  model: 'm',
  maxTokens: 64,
  messages: [{ role: 'user', content: 'hello' }],
  tools: [],
});

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function proxy(script: Script): Promise<FakeModel> {
  const model = await startFakeModel(script);
  closing.push(() => model.close());
  return model;
}

function client(urls: readonly string[]): ModelClient {
  const made = createModelClient(urls);
  closing.push(() => made.close());
  return made;
}

/** Where nobody listens. */
async function nowhere(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return `http://127.0.0.1:${port}`;
}

const signal = new AbortController().signal;
setMaxListeners(100, signal);
const runs = Array.from({ length: 12 }, (_, index) => `run_${index}`);
const drains: Script = (turn) =>
  turn.json(503, {
    error: { message: 'this proxy is stopping', type: 'overloaded_error', code: 'draining' },
  });

describe('turns of a worker with two proxies', () => {
  it('stay with one proxy a run, and are spread over both', async () => {
    const all = [await proxy((turn) => turn.say('a')), await proxy((turn) => turn.say('b'))];
    const models = client(all.map(({ url }) => url));
    const said = new Map<string, Set<string>>();
    for (const run of [...runs, ...runs]) {
      const { reply } = await models.stream(request(run), signal);
      said.set(run, (said.get(run) ?? new Set()).add(reply.content));
    }
    expect([...said.values()].every((answers) => answers.size === 1)).toBe(true);
    expect(new Set([...said.values()].flatMap((answers) => [...answers]))).toEqual(new Set(['a', 'b']));
  });

  it.each<readonly [string, Script | null]>([
    ['that nobody listens for', null],
    ['that is stopping', drains],
    ['that dies before it answers', (turn) => turn.reset()],
  ])('go past a proxy %s, as they were', async (_words, script) => {
    const away = script === null ? null : await proxy(script);
    const there = await proxy((turn) => turn.say('hi'));
    const models = client([away?.url ?? (await nowhere()), there.url]);
    for (const run of runs) {
      const { reply } = await models.stream(request(run), signal);
      expect(reply.content).toBe('hi');
    }
    expect(there.requests.map(({ headers }) => headers['x-fermata-run-id'])).toEqual(runs);
    expect(new Set(there.requests.map(({ headers }) => headers['x-fermata-turn']))).toEqual(new Set(['4']));
    // It is asked once and then left alone for a while.
    expect(away?.requests.length ?? 0).toBeLessThanOrEqual(1);
    await models.endRun('run_0', signal);
    expect(there.endedRuns).toEqual(['run_0']);
  });

  it('that a proxy cuts because it stops go on at the other one, and are not put down to the engine', async () => {
    const cut = { error: { message: 'cut', type: 'overloaded_error', code: 'draining' } };
    const stops = await proxy((turn) => {
      turn.write(chunk({ role: 'assistant', content: 'h' }), `data: ${JSON.stringify(cut)}\n\n`);
      turn.end();
    });
    const there = await proxy((turn) => turn.say('hi'));
    const models = client([stops.url, there.url]);
    for (const run of runs) expect((await models.stream(request(run), signal)).reply.content).toBe('hi');
    expect(stops.requests.length).toBe(1);
  });

  it.each<readonly [string, Script, UpstreamFailure['kind']]>([
    [
      'refuses',
      (turn) => turn.json(422, { error: { message: 'no', type: 'invalid_request_error' } }),
      'status',
    ],
    [
      'has no room for',
      (turn) => turn.json(503, { error: { message: 'full', type: 'overloaded_error', code: 'overloaded' } }),
      'status',
    ],
    [
      'breaks off',
      (turn) => {
        turn.write(chunk({ role: 'assistant', content: 'h' }));
        turn.end();
      },
      'broken-stream',
    ],
  ])('that an engine %s are not asked of the other one', async (_words, script, kind) => {
    const all = [await proxy(script), await proxy(script)];
    const models = client(all.map(({ url }) => url));
    await expect(models.stream(request('run_1'), signal)).rejects.toMatchObject({ failure: { kind } });
    expect(all.reduce((sum, { requests }) => sum + requests.length, 0)).toBe(1);
  });

  it('fail as unreachable when both are away', async () => {
    const models = client([await nowhere(), await nowhere()]);
    await expect(models.stream(request('run_1'), signal)).rejects.toMatchObject({
      failure: { kind: 'connection' },
    });
  });
});
