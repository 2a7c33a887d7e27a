/** Promise: no caller sees another's runs, whatever the two call them. Real proxy, real scheduler. */
import { describe, expect, it } from 'vitest';
import { bearer, serviceToken, tokenOf } from '../auth/test-access.ts';
import type { EngineCall } from './scripted-engine.ts';
import { startGuardedStack, type GuardedStack } from './guarded-proxy.ts';
import { chat, chatBody, chatPath, post, until } from './stack.ts';

const handle = 'run_0123456789abcdefghijAB';

/** Every reply calls a tool by the same id, as engines do that count from zero. */
function callingTools({ engine }: GuardedStack): void {
  const toolCalls = [{ id: 'call_0', type: 'function', function: { name: 'look', arguments: '{}' } }];
  engine.answer((call) => {
    call.json(200, {
      choices: [
        { finish_reason: 'tool_calls', message: { role: 'assistant', content: null, tool_calls: toolCalls } },
      ],
    });
  });
}

const callers: Record<string, Record<string, string>> = {
  ann: bearer(tokenOf('ann')),
  bob: bearer(tokenOf('bob')),
  ops: bearer(tokenOf('ops')),
  'a header': { ...bearer(serviceToken), 'x-fermata-caller': 'zoe' },
  nobody: bearer(serviceToken),
};

/** Two turns of each caller, all with the same words and names; the runs by caller. */
async function twoTurnsEach(
  stack: GuardedStack,
  name: (turn: number, shown: string) => Record<string, string>,
): Promise<{ shown: string[][]; runs: readonly string[] }> {
  const start = [{ role: 'user', content: 'the very same words' }];
  const reply = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'look', arguments: '{}' } }],
  };
  const next = [...start, reply, { role: 'tool', tool_call_id: 'call_0', content: 'seen' }];
  const shown: string[][] = [];
  const turns = [start, next];
  for (const [index, messages] of turns.entries()) {
    for (const [at, headers] of Object.values(callers).entries()) {
      const named = name(index, shown[at]?.[0] ?? '');
      const answer = await chat(stack.proxy, { messages }, { ...headers, ...named });
      expect(answer.status).toBe(200);
      (shown[at] ??= []).push(String(answer.headers['x-fermata-run-id']));
    }
  }
  const runs = await stack.runs();
  expect(runs.map(({ turns: count, phase }) => [count, phase])).toEqual(
    Object.keys(callers).map(() => [2, 'paused']),
  );
  expect(runs.map(({ caller }) => caller).toSorted()).toEqual(['ann', 'anonymous', 'bob', 'ops', 'zoe']);
  return { shown, runs: runs.map(({ run }) => run) };
}

describe('callers that call their runs alike do not meet:', () => {
  it('by the same run id, which each sees as it is', async () => {
    const stack = await startGuardedStack();
    callingTools(stack);
    const { shown, runs } = await twoTurnsEach(stack, () => ({ 'x-fermata-run-id': 'mine' }));
    expect(new Set(shown.flat())).toEqual(new Set(['mine']));
    expect(runs.toSorted()).toEqual(['ann/mine', 'bob/mine', 'mine', 'ops/mine', 'zoe/mine']);
  });

  it.each(['x-claude-code-session-id', 'session_id', 'x-session-affinity'])(
    'by the same %s',
    async (header) => {
      const stack = await startGuardedStack();
      callingTools(stack);
      const { shown } = await twoTurnsEach(stack, () => ({ [header]: 'session-1' }));
      for (const [first, second] of shown) expect(second).toBe(first);
    },
  );

  it('by the same conversation with the same tool-call ids, and no name at all', async () => {
    const stack = await startGuardedStack();
    callingTools(stack);
    const { shown } = await twoTurnsEach(stack, () => ({}));
    for (const [first, second] of shown) expect(second).toBe(first);
    expect(new Set(shown.flat()).size).toBe(Object.keys(callers).length);
  });

  it.each([
    ['a session', { session_id: 'session-1' }],
    ['no name', {}],
  ])(
    'and an id that a response showed means the same run when it is sent back: first %s',
    async (_, first) => {
      const stack = await startGuardedStack();
      callingTools(stack);
      const { shown } = await twoTurnsEach(stack, (turn, id) =>
        turn === 0 ? first : { 'x-fermata-run-id': id },
      );
      for (const [one, two] of shown) expect(two).toBe(one);
    },
  );

  it('and an id that a response showed another means nothing', async () => {
    const stack = await startGuardedStack();
    callingTools(stack);
    const anns = String((await chat(stack.proxy, {}, callers['ann'])).headers['x-fermata-run-id']);
    await chat(stack.proxy, {}, { ...callers['bob'], 'x-fermata-run-id': anns });
    await chat(stack.proxy, {}, { ...callers['bob'], 'x-fermata-run-id': `ann/${anns}` });
    const runs = await stack.runs();
    expect(runs.map(({ caller, turns }) => `${caller} ${turns}`).toSorted()).toEqual([
      'ann 1',
      'bob 1',
      'bob 1',
    ]);
  });

  it('a worker brings the turns of a spawned run by its handle, and no named caller can bring one', async () => {
    const stack = await startGuardedStack();
    callingTools(stack);
    const worker = { ...bearer(serviceToken), 'x-fermata-caller': 'ann', 'x-fermata-run-id': handle };
    await chat(stack.proxy, {}, worker);
    await chat(stack.proxy, {}, { ...callers['ann'], 'x-fermata-run-id': handle });
    await chat(stack.proxy, {}, { ...callers['bob'], 'x-fermata-run-id': handle });
    await chat(stack.proxy, {}, { ...worker, 'x-fermata-turn': '2' });
    const turns = Object.fromEntries((await stack.runs()).map(({ run, turns: count }) => [run, count]));
    expect(turns).toEqual({ [handle]: 2, [`ann/${handle}`]: 1, [`bob/${handle}`]: 1 });
  });
});

describe('GET and DELETE /v1/runs/{id}', () => {
  async function runRequest(
    stack: GuardedStack,
    method: string,
    run: string,
    headers: Record<string, string>,
  ) {
    const response = await fetch(`${stack.proxy.url}/v1/runs/${encodeURIComponent(run)}`, {
      method,
      headers,
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** A turn in flight, its engine call, and its client. */
  async function inFlight(stack: GuardedStack, run: string, headers: Record<string, string>) {
    const client = post(stack.proxy, chatPath, chatBody({ stream: true }), {
      ...headers,
      'x-fermata-run-id': run,
    });
    const call: EngineCall = await stack.engine.next();
    call.head(200);
    await client.head;
    return { call, client };
  }

  it('mean the caller\u2019s own run; another\u2019s is as unknown as none, and nothing of it ends', async () => {
    const stack = await startGuardedStack();
    const anns = await inFlight(stack, 'mine', callers['ann'] ?? {});
    expect(await runRequest(stack, 'GET', 'mine', callers['ann'] ?? {})).toMatchObject({
      status: 200,
      body: { id: 'mine', caller: 'ann', phase: 'generating' },
    });
    const bob = callers['bob'] ?? {};
    const zoe = callers['a header'] ?? {};
    for (const headers of [bob, { ...bob, 'x-fermata-caller': 'ann' }, zoe]) {
      for (const run of ['mine', 'ann/mine', '/mine', '../ann/mine']) {
        const other = await runRequest(stack, 'GET', run, headers);
        const none = await runRequest(stack, 'GET', 'never-was', headers);
        expect(other.status).toBe(404);
        expect(JSON.stringify(other.body).replace(run, 'X')).toBe(
          JSON.stringify(none.body).replace('never-was', 'X'),
        );
        expect((await runRequest(stack, 'DELETE', run, headers)).status).toBe(404);
      }
    }
    // A turn of bob's afterwards: had one of his requests ended ann's run, it would be told by now.
    const bobs = await inFlight(stack, 'mine', bob);
    expect([anns.call.aborted(), anns.client.ended()]).toEqual([false, null]);
    expect(await runRequest(stack, 'DELETE', 'mine', callers['ann'] ?? {})).toMatchObject({
      status: 200,
      body: { id: 'mine', ended: true },
    });
    await until(anns.call.aborted, 'the engine request of ann is closed');
    expect([bobs.call.aborted(), bobs.client.ended()]).toEqual([false, null]);
    expect((await stack.runs()).map(({ run }) => run)).toEqual(['bob/mine']);
  });

  it.each([
    ['an admin', bearer(tokenOf('ops')), 'ann/mine'],
    ['an admin that names the caller', { ...bearer(tokenOf('ops')), 'x-fermata-caller': 'ann' }, 'mine'],
    ['the service token', bearer(serviceToken), 'ann/mine'],
    ['the service token with the caller', { ...bearer(serviceToken), 'x-fermata-caller': 'ann' }, 'mine'],
  ])('let %s see and end the run of anyone', async (_, headers, id) => {
    const stack = await startGuardedStack();
    const { call } = await inFlight(stack, 'mine', callers['ann'] ?? {});
    expect(await runRequest(stack, 'GET', id, headers)).toMatchObject({
      status: 200,
      body: { id, caller: 'ann' },
    });
    expect((await runRequest(stack, 'DELETE', id, headers)).status).toBe(200);
    await until(call.aborted, 'the engine request is closed');
    expect(await stack.runs()).toEqual([]);
  });

  it('mean the admin\u2019s own run before that of anyone else', async () => {
    const stack = await startGuardedStack();
    const own = await inFlight(stack, 'mine', callers['ops'] ?? {});
    const other = await inFlight(stack, 'mine', callers['nobody'] ?? {});
    expect(await runRequest(stack, 'GET', 'mine', callers['ops'] ?? {})).toMatchObject({
      body: { caller: 'ops' },
    });
    await runRequest(stack, 'DELETE', 'mine', callers['ops'] ?? {});
    await until(own.call.aborted, 'the admin\u2019s own request is closed');
    expect(other.call.aborted()).toBe(false);
    expect((await stack.runs()).map(({ caller }) => caller)).toEqual(['anonymous']);
  });

  it('end a spawned run for the worker, which names it by its handle and no caller', async () => {
    const stack = await startGuardedStack();
    const worker = { ...bearer(serviceToken), 'x-fermata-caller': 'ann' };
    const { call } = await inFlight(stack, handle, worker);
    for (const named of ['ann', 'bob']) {
      expect((await runRequest(stack, 'GET', handle, bearer(tokenOf(named)))).status).toBe(404);
      expect((await runRequest(stack, 'DELETE', handle, bearer(tokenOf(named)))).status).toBe(404);
    }
    expect((await runRequest(stack, 'GET', handle, worker)).body['phase']).toBe('generating');
    expect((await runRequest(stack, 'DELETE', handle, bearer(serviceToken))).status).toBe(200);
    await until(call.aborted, 'the engine request is closed');
  });
});
