import * as fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { createToolRegistry, type ToolRegistry } from '../../../activities/tool-servers/tool-registry.ts';
import { startToolServer } from '../../../testkit/tool-server/host.ts';
import { caseFile } from '../../case-file.ts';
import { call as callOf, failureOf, noSignal } from './scripted-servers.ts';
import { startSessionServer, type SessionServer, type SessionServerOptions } from './session-server.ts';

const logger = pino({ level: 'silent' });
const limits = { headers: {}, idleTimeoutMs: 60_000, totalTimeoutMs: 600_000 };
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

function open(url: string, more: Partial<typeof limits> = {}): ToolRegistry {
  const registry = createToolRegistry(
    { s: { url, ...limits, headers: { authorization: 'Bearer t' }, ...more } },
    { logger },
  );
  closers.push(async () => await registry.close());
  return registry;
}

async function startServer(options: SessionServerOptions = {}): Promise<SessionServer> {
  const server = await startSessionServer(options);
  closers.push(async () => await server.close());
  return server;
}

const call = (name: string, key = 'k') => ({ ...callOf(name, key), arguments: { topic: 'x' } });

const m01 = caseFile('M01');
describe(`${m01.id} ${m01.title}`, () => {
  const script = m01.given['script'] as readonly { readonly server?: Reply }[];
  const [initialized, , , refused] = script.map(({ server }) => server);
  const { calls_answered: calls } = m01.expect as { calls_answered: number };

  it('asks for one new session, and each call runs once', async () => {
    const protocolVersion = initialized?.result?.protocolVersion ?? '';
    const server = await startServer({
      protocolVersion,
      lost: { status: refused?.status ?? 0, body: refused?.body ?? {} },
    });
    const registry = open(server.url);
    await registry.call('s', call('echo', 'first'), noSignal);
    expect(server.received[0]?.headers.authorization).toBe('Bearer t');
    server.loseSessions();
    const before = server.received.length;
    const keys = Array.from({ length: calls }, (_unused, index) => `call ${index}`);
    const answers = await Promise.all(
      keys.map(async (key) => await registry.call('s', call('echo', key), noSignal)),
    );
    expect(answers).toHaveLength(calls);
    expect(server.executed().toSorted()).toEqual(['first', ...keys].toSorted());
    const after = server.received.slice(before).filter(({ httpMethod }) => httpMethod === 'POST');
    const taken = after.filter(({ session }) => session !== 's-1');
    expect(taken.map(({ method, session }) => [method, session])).toEqual([
      ['initialize', undefined],
      ['notifications/initialized', 's-2'],
      ...keys.map(() => ['tools/call', 's-2']),
    ]);
    expect(after.filter(({ method }) => method === 'initialize')).toHaveLength(
      m01.expect['initialize_count_after_restart'] as number,
    );
  });

  const losses = [
    { status: 404, body: {} },
    { status: 410, body: { error: { code: -32_000, message: 'Gone' } } },
    { status: 400, body: { error: { code: -32_000, message: 'Bad Request: No valid session ID provided' } } },
    { status: 400, body: { error: { code: -32_000, message: 'Bad Request: Server not initialized' } } },
    { status: 401, body: { error: { code: -32_000, message: 'Unauthorized: Session not found' } } },
  ];
  it('is so for every way to say it, any number of calls, and again and again', async () => {
    const answers = fc.constantFrom<'json' | 'events'>('json', 'events');
    const rounds = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...losses), answers, rounds, async (lost, answer, parallel) => {
        const server = await startServer({ lost, answer });
        const registry = open(server.url);
        for (const [round, count] of parallel.entries()) {
          const keys = Array.from({ length: count }, (_unused, index) => `${round}:${index}`);
          await Promise.all(keys.map(async (key) => await registry.call('s', call('echo', key), noSignal)));
          server.loseSessions();
        }
        const total = parallel.reduce((sum, count) => sum + count, 0);
        expect(server.executed()).toHaveLength(total);
        expect(new Set(server.executed()).size).toBe(total);
        expect(server.methods().filter((method) => method === 'initialize')).toHaveLength(parallel.length);
        await registry.close();
      }),
      { numRuns: 15 },
    );
  });

  it('finds the session again for a list too', async () => {
    const server = await startServer({ tools: [{ name: 'a', inputSchema: { type: 'object' } }] });
    const registry = open(server.url);
    await registry.call('s', call('echo'), noSignal);
    server.loseSessions();
    const { tools, warnings } = await registry.list(null, noSignal);
    expect(warnings).toEqual([]);
    expect(tools.map(({ name }) => name)).toEqual(['s__a']);
  });

  it('gives up, without a storm, on a server that loses every session at once', async () => {
    const server = await startServer();
    const registry = open(server.url);
    await registry.call('s', call('echo'), noSignal);
    const lose = setInterval(() => server.loseSessions(), 0);
    closers.push(async () => clearInterval(lose));
    server.loseSessions();
    const original = server.methods().length;
    for (let round = 0; round < 20; round += 1) {
      server.loseSessions();
      await registry.call('s', call('echo'), noSignal).catch(() => undefined);
    }
    const asked = server.methods().slice(original);
    expect(asked.filter((method) => method === 'initialize').length).toBeLessThanOrEqual(40);
    expect(new Set(server.executed()).size).toBeLessThanOrEqual(1);
  });

  it('is not taken for a refusal of the call, which is not repeated', async () => {
    const refusal = { status: 400, body: { error: { code: -32_602, message: 'unknown field' } } };
    const server = await startServer({ lost: refusal });
    const registry = open(server.url);
    await registry.call('s', call('echo'), noSignal);
    server.loseSessions();
    expect(await failureOf(registry.call('s', call('echo'), noSignal))).toMatchObject({
      outcome: 'not-sent',
    });
    expect(server.methods().filter((method) => method === 'tools/call')).toHaveLength(2);
  });
});

interface Reply {
  readonly status: number;
  readonly body?: object;
  readonly result?: { readonly protocolVersion?: string };
}

describe('a tool server over HTTP', () => {
  it('is listed and called in the newest protocol it speaks', async () => {
    const server = await startToolServer({ delayScale: 0 });
    closers.push(async () => await server.close());
    const registry = open(server.url);
    const { tools, warnings } = await registry.list(['s__lookup', 's__add_note'], noSignal);
    expect(warnings).toEqual([]);
    expect(tools.map(({ name, annotations }) => [name, annotations])).toEqual([
      ['s__lookup', { readOnlyHint: true, destructiveHint: false, idempotentHint: true }],
      ['s__add_note', { readOnlyHint: false, destructiveHint: false, idempotentHint: false }],
    ]);
    const result = await registry.call('s', call('lookup', 'run_1:c1'), noSignal);
    expect(JSON.stringify(result.content)).toContain('x: ');
    expect(server.calls().keys['run_1:c1']).toMatchObject({ tool: 'lookup', finished: 1 });
  });

  it('that is gone was not sent the call, and is found again when it is back', async () => {
    const first = await startToolServer({ delayScale: 0 });
    const registry = open(first.url);
    await registry.call('s', call('lookup'), noSignal);
    await first.close();
    await expect(registry.call('s', call('lookup'), noSignal)).rejects.toMatchObject({ outcome: 'not-sent' });
    const second = await startToolServer({ delayScale: 0, port: first.port });
    closers.push(async () => await second.close());
    await registry.call('s', call('lookup'), noSignal);
    expect(second.calls().tools['lookup']?.finished).toBe(1);
  });

  it('hears of a cancelled call', async () => {
    const server = await startToolServer();
    closers.push(async () => await server.close());
    const abort = new AbortController();
    const running = open(server.url).call(
      's',
      { tool: 'hang', arguments: {}, idempotencyKey: 'k' },
      abort.signal,
    );
    running.catch(() => undefined);
    await server.waitFor((calls) => calls.tools['hang']?.started === 1);
    abort.abort();
    await server.waitFor((calls) => calls.tools['hang']?.cancelled === 1);
    await expect(running).rejects.toThrow(/abort/i);
  });

  it('whose answer breaks off leaves the outcome unknown at once, and the call is not repeated', async () => {
    const server = await startServer({ answer: 'cut' });
    const failure = await failureOf(open(server.url).call('s', call('echo'), noSignal));
    expect(failure).toMatchObject({
      outcome: 'unknown',
      message: expect.stringContaining('broke off') as string,
    });
    expect(server.executed()).toHaveLength(1);
  });

  it('is told to stop at the idle limit, and holds no socket of ours after', async () => {
    const server = await startServer({ answer: 'none' });
    const registry = open(server.url, { idleTimeoutMs: 300 });
    expect(await failureOf(registry.call('s', call('echo'), noSignal))).toMatchObject({ outcome: 'unknown' });
    await expect.poll(() => server.methods()).toContain('notifications/cancelled');
    await expect.poll(() => server.open()).toBe(0);
  });

  it('gets an answer to everything it asks under a call', async () => {
    const ask = [
      { jsonrpc: '2.0', id: 'p', method: 'ping' },
      { jsonrpc: '2.0', id: 7, method: 'roots/list' },
      { jsonrpc: '2.0', id: 8, method: 'no/such/method', params: {} },
    ];
    const server = await startServer({ answer: 'events', ask });
    await open(server.url).call('s', call('echo'), noSignal);
    expect(
      server
        .replies()
        .map(({ id, result, error }) => [id, result, error?.code])
        .toSorted((a, b) => String(a[0]).localeCompare(String(b[0]))),
    ).toEqual([
      [7, undefined, -32_601],
      [8, undefined, -32_601],
      ['p', {}, undefined],
    ]);
  });

  it('is left with no session and no socket when the worker closes', async () => {
    const server = await startServer({ answer: 'events' });
    const registry = open(server.url);
    await registry.call('s', call('echo'), noSignal);
    await registry.close();
    const last = server.received.at(-1);
    expect([last?.httpMethod, last?.session]).toEqual(['DELETE', 's-1']);
    await expect.poll(() => server.open()).toBe(0);
  });
});
