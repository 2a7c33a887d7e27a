/** Everything that is not a chat turn: models, decisions, runs, health, metrics, and the shutdown. */
import { describe, expect, it } from 'vitest';
import { decideResponseSchema } from '../../contracts/decide.ts';
import { startSimEngine, type SimEngineOptions } from '../../testkit/sim-engine/host.ts';
import { startRealScheduler } from './real-scheduler.ts';
import {
  chat,
  chatBody,
  chatPath,
  chunk,
  closeAfterTest,
  post,
  replica,
  sse,
  startProxy,
  startStack,
  until,
  untilGauge,
} from './stack.ts';

const streaming = chatBody({ stream: true });

async function getJson(url: string, method = 'GET'): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, { method });
  return { status: response.status, body: await response.json() };
}

describe('GET /v1/models', () => {
  it('is the union of the pool and follows it', async () => {
    const { proxy, scheduler } = await startStack();
    scheduler.setPool([
      replica('a', 'http://a', { models: ['m', 'n'] }),
      replica('b', 'http://b', { models: ['m'], healthy: false }),
    ]);
    let ids: string[] = [];
    const deadline = performance.now() + 5_000;
    while (ids.length !== 2 && performance.now() < deadline) {
      const { body } = await getJson(`${proxy.url}/v1/models`);
      ids = (body as { data: { id: string }[] }).data.map(({ id }) => id);
    }
    expect(ids).toEqual(['m', 'n']);
  });
});

describe('POST /v1/decide', () => {
  async function decideStack(...engines: SimEngineOptions[]): Promise<{ url: string }> {
    const started = await Promise.all(engines.map((options) => startSimEngine({ timeScale: 0, ...options })));
    for (const engine of started) closeAfterTest(() => engine.close());
    const scheduler = await startRealScheduler(
      started.map((engine, index) => ({
        id: `e${index}` as never,
        url: engine.url,
        engine: 'vllm',
        kind: engines[index]?.kind ?? 'generative',
      })),
    );
    return (await startProxy(scheduler.url)).proxy;
  }

  async function decide(
    url: string,
    request: unknown,
  ): Promise<{ status: number; text: string; headers: Headers }> {
    const response = await fetch(`${url}/v1/decide`, { method: 'POST', body: JSON.stringify(request) });
    return { status: response.status, text: await response.text(), headers: response.headers };
  }

  it('with labels is one generative turn, scored from the first token, and its run is over afterwards', async () => {
    const { url } = await decideStack({});
    const input = '[[sim {"decide": {"refund": 0.6, "question": 0.2, "the": 0.2}}]] my money, please';
    const reply = await decide(url, { input, labels: ['refund', 'question', 'praise'] });
    expect(reply.status).toBe(200);
    const answer = decideResponseSchema.parse(JSON.parse(reply.text));
    expect(answer.label).toBe('refund');
    expect(answer.probabilities['refund']).toBeCloseTo(0.75);
    expect(answer.unscored).toEqual(['praise']);
    expect(reply.headers.get('x-fermata-replica')).toBe('e0');
    const run = reply.headers.get('x-fermata-run-id');
    expect((await getJson(`${url}/v1/runs/${run}`)).status).toBe(404);
  });

  it('without labels asks a one-shot replica, and only such a one', async () => {
    const { url } = await decideStack({}, { kind: 'one-shot', model: 'guard', labels: ['calm', 'angry'] });
    const reply = await decide(url, { input: 'an angry word' });
    expect(reply.status).toBe(200);
    const answer = decideResponseSchema.parse(JSON.parse(reply.text));
    expect(answer.label).toBe('angry');
    expect(answer.unscored).toEqual([]);
    expect(reply.headers.get('x-fermata-replica')).toBe('e1');
  });

  it('asks one generative token of the model it names, and passes a refusal on unchanged', async () => {
    const { proxy, engine } = await startStack();
    const asked = decide(proxy.url, { input: 'x', labels: ['a', 'b'] });
    const call = await engine.next();
    expect(JSON.parse(call.body.toString('utf8'))).toMatchObject({
      model: 'm-test',
      max_tokens: 1,
      logprobs: true,
      top_logprobs: 20,
    });
    call.json(429, { error: 'slow down' }, { 'retry-after': '3' });
    const reply = await asked;
    expect([reply.status, reply.text, reply.headers.get('retry-after')]).toEqual([
      429,
      '{"error":"slow down"}',
      '3',
    ]);
  });

  it.each([
    [{ input: '' }, 'input'],
    [{ input: 'x', labels: ['only'] }, 'labels'],
    [{ input: 'x', labels: Array.from({ length: 21 }, (_, index) => `l${index}`) }, 'labels'],
    [{ input: 'x', extra: 1 }, 'body'],
  ])('refuses %j and names the field', async (request, field) => {
    const { proxy } = await startStack();
    const reply = await decide(proxy.url, request);
    expect(reply.status).toBe(400);
    expect((JSON.parse(reply.text) as { error: { message: string } }).error.message).toMatch(
      new RegExp(`^${field}: `),
    );
  });
});

describe('runs', () => {
  it('GET tells what is known of one, through its phases', async () => {
    const { proxy, engine } = await startStack();
    const url = `${proxy.url}/v1/runs/my%20run`;
    expect((await getJson(url)).status).toBe(404);
    const client = post(proxy, chatPath, streaming, {
      'x-fermata-run-id': 'my run',
      'x-fermata-class': 'batch',
    });
    const call = await engine.next();
    expect((await getJson(url)).body).toMatchObject({
      id: 'my run',
      phase: 'generating',
      replica: 'engine-0',
    });
    call.head(200);
    call.write(sse(chunk({ tool_calls: [{ id: 'c', function: { name: 'f' } }] }, 'tool_calls')));
    call.write(sse({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 3 } }, '[DONE]'));
    call.end();
    await until(() => client.ended() === 'whole', 'the reply is whole');
    expect((await getJson(url)).body).toMatchObject({
      phase: 'paused',
      class: 'batch',
      caller: 'anonymous',
      turns: 1,
      tokens: { prompt: 9, completion: 3 },
    });
  });

  it('DELETE refuses its held turn, aborts its turn in flight at the engine, tells the scheduler, forgets it', async () => {
    const stack = await startStack({ rule: () => null });
    const { proxy, engine, scheduler } = stack;
    const headers = { 'x-fermata-run-id': 'r' };
    const held = post(proxy, chatPath, streaming, headers);
    await until(() => scheduler.held() === 1, 'the first is held');
    const heldTurn = scheduler.of('turnArrived')[0]?.spec.turn;
    const flying = post(proxy, chatPath, streaming, headers);
    await until(() => scheduler.held() === 2, 'the second is held');
    const flyingTurn = scheduler.of('turnArrived')[1]?.spec.turn;
    if (flyingTurn !== undefined) scheduler.admit(flyingTurn, 'engine-0');
    const call = await engine.next();
    const reply = await getJson(`${proxy.url}/v1/runs/r`, 'DELETE');
    expect(reply).toEqual({ status: 200, body: { id: 'r', object: 'run', ended: true } });
    expect((await held.head).statusCode).toBe(409);
    expect((await flying.head).statusCode).toBe(409);
    await until(call.aborted, 'the engine request is closed');
    await until(() => scheduler.of('runEnded').length === 1, 'the scheduler is told');
    expect(scheduler.of('turnAbandoned')).toEqual([{ type: 'turnAbandoned', turn: heldTurn }]);
    expect(scheduler.of('turnFinished')).toMatchObject([{ turn: flyingTurn, outcome: 'failed' }]);
    expect((await getJson(`${proxy.url}/v1/runs/r`)).status).toBe(404);
    expect([scheduler.places(), scheduler.held()]).toEqual([0, 0]);
  });

  it('a turn in flight is aborted when its run was ended through another proxy', async () => {
    const { proxy, engine, scheduler } = await startStack();
    const client = post(proxy, chatPath, streaming);
    const call = await engine.next();
    call.head(200);
    call.write(sse(chunk({ content: 'x' })));
    await until(() => client.chunks.length > 0, 'the stream has begun');
    const turn = scheduler.of('turnArrived')[0]?.spec.turn;
    if (turn !== undefined) scheduler.send({ type: 'abort', turn });
    await until(call.aborted, 'the engine request is closed');
    await until(() => client.ended() === 'cut', 'the client is cut');
    await until(() => scheduler.places() === 0, 'the place is free');
    expect(scheduler.of('turnFinished')).toMatchObject([{ outcome: 'failed' }]);
  });

  it('without a header are recognised by what the client sends back, and not by call_0 alone', async () => {
    const { proxy, engine } = await startStack();
    engine.answer((call) => {
      const message = {
        role: 'assistant',
        tool_calls: [{ id: 'call_0', function: { name: 'f', arguments: '{}' } }],
      };
      call.json(200, { choices: [{ finish_reason: 'tool_calls', message }] });
    });
    const start = [{ role: 'user', content: 'go' }];
    const first = await chat(proxy, { messages: start });
    const run = first.headers['x-fermata-run-id'];
    expect(run).toMatch(/^run_[A-Za-z0-9]{22}$/);
    const calls = {
      role: 'assistant',
      tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'f', arguments: '{}' } }],
    };
    const result = { role: 'tool', tool_call_id: 'call_0', content: 'r' };
    const second = await chat(proxy, { messages: [...start, calls, result] });
    expect(second.headers['x-fermata-run-id']).toBe(run);
    const other = await chat(proxy, { messages: [{ role: 'user', content: 'other' }, calls, result] });
    expect(other.headers['x-fermata-run-id']).not.toBe(run);
  });
});

describe('health', () => {
  it('readiness names the scheduler and the replicas it waits for', async () => {
    const { proxy, scheduler, engine } = await startStack();
    expect((await getJson(`${proxy.url}/healthz`)).status).toBe(200);
    const ready = await getJson(`${proxy.url}/readyz`);
    expect(ready).toMatchObject({
      status: 200,
      body: {
        ready: true,
        dependencies: {
          scheduler: { url: `ws://127.0.0.1:${scheduler.port}/link`, linked: true },
          replicas: { healthy: 1, of: 1, modelsWithout: [] },
        },
      },
    });
    scheduler.setPool([replica('engine-0', engine.url, { healthy: false })]);
    let state = ready;
    const deadline = performance.now() + 5_000;
    while (state.status === 200 && performance.now() < deadline) state = await getJson(`${proxy.url}/readyz`);
    expect(state).toMatchObject({
      status: 503,
      body: { ready: false, dependencies: { replicas: { healthy: 0, modelsWithout: ['m-test'] } } },
    });
    await scheduler.close();
    await untilGauge(proxy, 'fermata_proxy_link_up', 0);
    expect((await getJson(`${proxy.url}/readyz`)).body).toMatchObject({
      dependencies: { scheduler: { linked: false } },
    });
  });

  it('metrics tell requests, hold, first byte, duration, tokens and upstream errors', async () => {
    const { proxy, engine } = await startStack();
    engine.answer((call) => {
      if (engine.calls.length === 1)
        call.json(200, { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } });
      else call.json(500, {});
    });
    await chat(proxy);
    await chat(proxy);
    const text = await (await fetch(`${proxy.url}/metrics`)).text();
    for (const line of [
      'fermata_proxy_requests_total{api="chat",status="200"} 1',
      'fermata_proxy_requests_total{api="chat",status="500"} 1',
      'fermata_proxy_hold_seconds_count{class="interactive",outcome="done"} 1',
      'fermata_proxy_first_byte_seconds_count{class="interactive",outcome="done"} 1',
      'fermata_proxy_hold_seconds_count{class="interactive",outcome="refused"} 1',
      'fermata_proxy_turn_duration_seconds_count{class="interactive",outcome="done"} 1',
      'fermata_proxy_turn_duration_seconds_count{class="interactive",outcome="refused"} 1',
      'fermata_proxy_tokens_total{class="interactive",kind="prompt"} 5',
      'fermata_proxy_tokens_total{class="interactive",kind="completion"} 2',
      'fermata_proxy_upstream_errors_total{kind="status_500"} 1',
    ]) {
      expect(text).toContain(line);
    }
  });
});

describe('a proxy that closes', () => {
  it('refuses held turns and new ones, lets streams finish, and then is gone', async () => {
    const stack = await startStack({
      rule: (spec) =>
        spec.run === 'held' ? null : { type: 'admit', turn: spec.turn, replica: replica('engine-0', '').id },
      limits: { drainMs: 20_000 },
    });
    const { proxy, engine, scheduler } = stack;
    const held = post(proxy, chatPath, streaming, { 'x-fermata-run-id': 'held' });
    const flying = post(proxy, chatPath, streaming, { 'x-fermata-run-id': 'flying' });
    const call = await engine.next();
    call.head(200);
    await flying.head;
    await until(() => scheduler.held() === 1, 'one is held');
    const closed = proxy.close();
    const head = await held.head;
    expect([head.statusCode, head.headers['retry-after']]).toEqual([503, '1']);
    expect((await post(proxy, chatPath, streaming).head).statusCode).toBe(503);
    call.write(sse(chunk({ content: 'x' }, 'stop'), '[DONE]'));
    call.end();
    await closed;
    await until(() => flying.ended() !== null, 'the stream has ended');
    expect(flying.ended()).toBe('whole');
    expect([scheduler.places(), scheduler.held()]).toEqual([0, 0]);
  });

  it('cuts what does not finish in time, at both ends', async () => {
    const { proxy, engine, scheduler } = await startStack({ limits: { drainMs: 50 } });
    const client = post(proxy, chatPath, streaming);
    const call = await engine.next();
    call.head(200);
    call.write(sse(chunk({ content: 'x' })));
    await until(() => client.chunks.length > 0, 'the stream has begun');
    await proxy.close();
    await until(() => client.ended() !== null, 'the client is cut');
    expect(client.ended()).toBe('cut');
    await until(call.aborted, 'the engine request is closed');
    await until(() => scheduler.places() === 0, 'the place is free');
    await proxy.close();
  });
});
