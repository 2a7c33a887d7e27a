/** The path of a turn over real sockets, between a scripted engine and a scripted scheduler. */
import { describe, expect, it } from 'vitest';
import { chat, chatBody, chatPath, chunk, post, sse, startStack, until, usageChunk } from './stack.ts';

describe('a streamed turn', () => {
  it('passes each chunk as it comes, reports first byte and usage, and names run, replica and held time', async () => {
    const { proxy, engine, scheduler, log } = await startStack();
    const client = post(proxy, chatPath, chatBody({ stream: true }), { 'x-fermata-run-id': 'run-1' });
    const call = await engine.next();
    expect(JSON.parse(call.body.toString('utf8'))).toEqual({
      stream_options: { include_usage: true },
      model: 'm-test',
      messages: [{ role: 'user', content: 'hello' }],
      stream: true,
    });
    call.head(200);
    const head = await client.head;
    expect(head.statusCode).toBe(200);
    expect(head.headers['content-type']).toBe('text/event-stream');
    expect(head.headers['x-fermata-run-id']).toBe('run-1');
    expect(head.headers['x-fermata-replica']).toBe('engine-0');
    expect(head.headers['x-fermata-held-ms']).toMatch(/^\d+$/);
    const first = sse(chunk({ content: 'hi' }));
    call.write(first);
    await until(() => client.text() === first, 'the first chunk has come alone');
    await until(() => scheduler.of('turnStarted').length === 1, 'the first byte is reported');
    expect(scheduler.places()).toBe(1);
    const last = sse(chunk({}, 'stop'));
    call.write(last);
    await until(() => client.text() === first + last, 'the finish chunk has come');
    call.write(sse(usageChunk, '[DONE]'));
    call.end();
    await until(() => client.ended() !== null, 'the reply has ended');
    expect(client.ended()).toBe('whole');
    expect(client.text()).toBe(first + last + sse('[DONE]'));
    await until(() => scheduler.places() === 0, 'the place is free');
    expect(scheduler.of('turnFinished')).toEqual([
      {
        type: 'turnFinished',
        turn: scheduler.of('turnArrived')[0]?.spec.turn,
        outcome: 'done',
        usage: { promptTokens: 11, completionTokens: 2 },
      },
    ]);
    await until(() => log.some((line) => line['msg'] === 'turn'), 'the access log has its line');
    expect(log.find((line) => line['msg'] === 'turn')).toMatchObject({
      run: 'run-1',
      caller: 'anonymous',
      class: 'interactive',
      model: 'm-test',
      replica: 'engine-0',
      api: 'chat',
      status: 200,
      tokensIn: 11,
      tokensOut: 2,
      outcome: 'done',
    });
  });
});

describe('a whole turn', () => {
  it('passes the body unchanged and reports what it says', async () => {
    const { proxy, engine, scheduler } = await startStack();
    const body =
      '{"id":"c", "choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"lookup","arguments":"{}"}}]}}],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}, "n":12345678901234567890}';
    engine.answer((call) => {
      call.head(200, { 'content-type': 'application/json', 'content-length': String(body.length) });
      call.write(body);
      call.end();
    });
    const reply = await chat(proxy);
    expect(reply.text).toBe(body);
    expect(reply.headers['content-length']).toBe(String(body.length));
    expect(reply.headers['transfer-encoding']).toBeUndefined();
    await until(() => scheduler.places() === 0, 'the place is free');
    expect(scheduler.of('turnFinished')[0]).toMatchObject({
      outcome: 'paused',
      usage: { promptTokens: 7, completionTokens: 3 },
      cachedTokens: 4,
      toolNames: ['lookup'],
    });
  });
});
