/** The run API over real runs: every answer is held against its OpenAPI document. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { openAccess } from '../../../auth/access.ts';
import { eventSchemas } from '../../../mcp-server/api/event-bodies.ts';
import { createMcpServer } from '../../../mcp-server/create-mcp-server.ts';
import { bearer, namedToken, serviceToken, testAccess, tokenOf } from '../../auth/test-access.ts';
import { startStack, type Stack } from '../stack.ts';
import { ApiClient, readDocument, type ApiReply, type Listener } from './api-client.ts';
import { startCutRelay } from './cut-relay.ts';

let stack: Stack;
let ann: ApiClient;
let bob: ApiClient;
let ops: ApiClient;
beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    access: testAccess([namedToken('ann'), namedToken('bob'), namedToken('ops', { admin: true })]),
    images: true,
  });
  const document = await readDocument(stack.server.url, bearer(serviceToken));
  const clientOf = (name: string): ApiClient =>
    new ApiClient(stack.server.url, document, bearer(tokenOf(name)));
  [ann, bob, ops] = [clientOf('ann'), clientOf('bob'), clientOf('ops')];
});
afterAll(async () => {
  await stack.close();
});

const bound = { timeout: 20_000, interval: 50 };

async function spawn(client: ApiClient, task: string, over: Record<string, unknown> = {}): Promise<string> {
  const reply = await client.post('/api/runs', { task, ...over });
  expect(reply.status).toBe(201);
  return String(reply.body?.['handle']);
}

function statuses(replies: readonly ApiReply[]): number[] {
  return replies.map(({ status }) => status).toSorted((one, other) => one - other);
}

async function untilEnded(client: ApiClient, handle: string): Promise<Record<string, unknown>> {
  const { body } = await client.get(`/api/runs/${handle}?waitSeconds=30`);
  expect(body).toMatchObject({ endedAt: expect.any(String) });
  return body ?? {};
}

async function untilOpen(client: ApiClient, handle: string): Promise<string> {
  return await vi.waitFor(async () => {
    const { body } = await client.get(`/api/runs/${handle}`);
    const [open] = (body?.['pendingApprovals'] ?? []) as { id: string }[];
    if (open === undefined) throw new Error('nothing waits yet');
    return open.id;
  }, bound);
}

interface Listed {
  readonly runs: readonly { readonly handle: string; readonly status: string }[];
  readonly nextCursor: string | null;
}

async function list(client: ApiClient, query: string): Promise<Listed> {
  const { status, body } = await client.get(`/api/runs?${query}`);
  expect(status).toBe(200);
  return body as unknown as Listed;
}

async function untilListed(client: ApiClient, query: string, handles: readonly string[]): Promise<void> {
  await vi.waitFor(async () => {
    const { runs } = await list(client, query);
    expect(runs.map(({ handle }) => handle)).toEqual(expect.arrayContaining([...handles]));
  }, bound);
}

describe('a run over the API', () => {
  it('is started, told of while it works, and told with its whole answer', async () => {
    const held = stack.holding(`answer ${'long '.repeat(2_000)}end`);
    const spawned = await ann.post('/api/runs', { task: held.task, maxTokens: '0', serviceClass: 'batch' });
    const handle = String(spawned.body?.['handle']);
    expect([spawned.status, spawned.headers.get('location')]).toEqual([201, `/api/runs/${handle}`]);
    await held.held;
    expect((await ann.get(`/api/runs/${handle}/timeline`)).body).toMatchObject({
      spans: [{ kind: 'turn' }, { kind: 'tool' }, { kind: 'turn', outcome: 'running', endedAt: null }],
    });
    expect((await ann.get(`/api/runs/${handle}`)).body).toMatchObject({
      status: 'Running',
      phase: 'model turn 2',
      class: 'batch',
      caller: 'ann',
      result: null,
      counters: { turns: 1, toolCalls: 1 },
    });
    const waited = ann.get(`/api/runs/${handle}?waitSeconds=30`);
    held.release();
    const { body } = await waited;
    expect(body).toMatchObject({ status: 'Completed', subtree: { runs: 1, atWork: 0 }, children: [] });
    expect(String(body?.['result'])).toMatch(/^answer (long )+end$/);
    expect(String(body?.['result'])).toHaveLength(10_010);
  });

  it('is one run for one requestId: 201, then 200, then 409 for something else', async () => {
    const body = { task: stack.saying('once'), requestId: randomUUID() };
    const [first, second] = await Promise.all([ann.post('/api/runs', body), ann.post('/api/runs', body)]);
    expect(statuses([first, second])).toEqual([200, 201]);
    expect(first.body?.['handle']).toBe(second.body?.['handle']);
    expect((await ann.post('/api/runs', { ...body, task: 'else' })).body).toMatchObject({
      error: { code: 'conflict' },
    });
    expect((await bob.post('/api/runs', body)).body?.['handle']).not.toBe(first.body?.['handle']);
  });

  it('has a transcript with calls, results and images, which are told of but not sent', async () => {
    const calls = [{ tool: 'picture', arguments: { scene: 'a pier', width: 64 } }, 'lookup'];
    const handle = await spawn(
      ann,
      `Look ${'x'.repeat(30_000)} [[sim ${JSON.stringify({ calls, answer: 'seen' })}]]`,
    );
    await untilEnded(ann, handle);
    const { body } = await ann.get(`/api/runs/${handle}/transcript`);
    const entries = body?.['entries'] as Record<string, unknown>[];
    expect(body).toMatchObject({ total: 6, nextOffset: null });
    expect(entries.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ]);
    expect(entries[0]).toMatchObject({ cutFromBytes: expect.any(Number) });
    expect(entries[1]).toMatchObject({ toolCalls: [{ name: 'desk__picture' }] });
    const calledIds = entries.flatMap(({ toolCalls }) => (toolCalls as { id: string }[]).map(({ id }) => id));
    expect(entries[2]).toMatchObject({
      toolCallId: calledIds[0],
      images: [{ mimeType: 'image/png', bytes: expect.any(Number) }],
    });
    expect(entries[5]).toMatchObject({ content: 'seen' });
    expect(JSON.stringify(body)).not.toContain('iVBORw0KGgo');
    const full = await ann.get(`/api/runs/${handle}/transcript?full=true&limit=1`);
    expect(full.body).toMatchObject({ nextOffset: 1, entries: [{ cutFromBytes: null }] });
    expect(JSON.stringify(full.body).length).toBeGreaterThan(30_000);
    expect(JSON.stringify(full.body)).not.toContain('iVBORw0KGgo');
    // It has ended: no model writes.
    expect((await ann.get(`/api/runs/${handle}/live`)).body).toEqual({ live: null });
    const timeline = await ann.get(`/api/runs/${handle}/timeline`);
    const spans = timeline.body?.['spans'] as Record<string, unknown>[];
    expect(spans.map(({ kind }) => kind)).toEqual(['turn', 'tool', 'turn', 'tool', 'turn']);
    expect(spans[0]).toMatchObject({
      turn: 1,
      outcome: 'ok',
      attempts: 1,
      calls: ['desk__picture'],
      heldMs: expect.any(Number),
      firstByteMs: expect.any(Number),
    });
    expect(spans[1]).toMatchObject({ tool: 'desk__picture', outcome: 'ok', callId: calledIds[0] });
    expect(JSON.stringify(timeline.body)).not.toContain('iVBORw0KGgo');
  });

  it('has a tree with totals, and a cancel ends it and all below it', async () => {
    const held = stack.holding('never');
    const root = await spawn(ann, held.task);
    await held.held;
    const [waiting, done] = await Promise.all([
      spawn(ann, stack.lookingUp('x'), { parent: root, approveTools: ['desk__lookup'] }),
      spawn(ann, stack.lookingUp('y'), { parent: root }),
    ]);
    await untilEnded(ann, done);
    await untilOpen(ann, waiting);
    const tree = await vi.waitFor(async () => {
      const { body } = await ann.get(`/api/tree/${waiting}`);
      expect(body?.['runs']).toHaveLength(3);
      return body as { root: string; runs: { handle: string; depth: number; subtree: unknown }[] };
    }, bound);
    expect(tree.root).toBe(root);
    expect(tree.runs.map(({ depth }) => depth)).toEqual([1, 2, 2]);
    expect(tree.runs[0]).toMatchObject({
      handle: root,
      subtree: { runs: 3, atWork: 2, counters: { turns: 4, toolCalls: 2 } },
    });
    expect((await ann.get(`/api/runs/${root}`)).body).toMatchObject({
      subtree: { runs: 3, atWork: 2 },
      children: expect.arrayContaining([
        expect.objectContaining({ handle: waiting, status: 'AwaitingApproval' }),
      ]),
    });
    await untilListed(ann, 'status=AwaitingApproval', [waiting]);
    expect((await list(ann, 'root=true')).runs.map(({ handle }) => handle)).not.toContain(waiting);
    const cancelled = await ann.post(`/api/runs/${root}/cancel`, { reason: 'enough' });
    expect(cancelled).toMatchObject({ status: 200, body: { reached: 2, later: false } });
    for (const handle of [root, waiting]) {
      expect(await untilEnded(ann, handle)).toMatchObject({
        status: 'Cancelled',
        reason: expect.stringContaining('enough'),
      });
    }
    held.release();
    expect((await ann.post(`/api/runs/${root}/cancel`)).body).toMatchObject({
      reached: 0,
      status: 'Cancelled',
    });
    expect((await ann.post('/api/runs', { task: 't', parent: root })).body).toMatchObject({
      error: { code: 'conflict' },
    });
  });

  it('that waits for approval is decided once, also by two at the same moment, and both learn how', async () => {
    for (const allow of [true, false]) {
      const handle = await spawn(ann, stack.lookingUp('decided'), { approveTools: ['desk__lookup'] });
      const id = await untilOpen(ann, handle);
      const path = `/api/runs/${handle}/approvals/${id}`;
      const replies = await Promise.all([
        ann.post(path, { allow }),
        ops.post(path, { allow: !allow }),
        bob.post(path, { allow }),
      ]);
      expect(statuses(replies)).toEqual([200, 404, 409]);
      const accepted = replies.find(({ status }) => status === 200)?.body?.['decided'];
      const late = replies.find(({ status }) => status === 409)?.body;
      expect(late).toMatchObject({ error: { code: 'already_decided' }, decided: accepted });
      expect(['ann', 'ops']).toContain((accepted as { by: string }).by);
      expect(await untilEnded(ann, handle)).toMatchObject({
        status: 'Completed',
        decidedApprovals: [accepted],
      });
      const { body } = await ann.get(`/api/runs/${handle}/timeline`);
      const { allow: allowed } = accepted as { allow: boolean };
      expect(body?.['spans']).toMatchObject([
        { kind: 'turn', outcome: 'ok' },
        { kind: 'approval', tools: ['desk__lookup'], endedAt: expect.any(String) },
        ...(allowed ? [{ kind: 'tool', outcome: 'ok' }] : []),
        { kind: 'turn', outcome: 'ok' },
      ]);
      expect(await ann.post(path, { allow })).toMatchObject({ status: 409, body: { decided: accepted } });
      const unknown = await ann.post(`/api/runs/${handle}/approvals/apr_none`, { allow });
      expect(unknown).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    }
  });

  it('that waits says so when an approval is named that is none of its own', async () => {
    const handle = await spawn(ann, stack.lookingUp('x'), { approveTools: ['desk__lookup'] });
    await untilOpen(ann, handle);
    expect(await ann.post(`/api/runs/${handle}/approvals/apr_none`, { allow: true })).toMatchObject({
      status: 404,
      body: { error: { code: 'unknown_handle', message: expect.stringContaining('apr_none') } },
    });
    await ann.post(`/api/runs/${handle}/cancel`);
  });
});

describe('a server that stops', () => {
  it('answers who waits with what there is', async () => {
    const server = await stack.startServer();
    const client = new ApiClient(
      server.url,
      await readDocument(server.url, bearer(serviceToken)),
      bearer(tokenOf('ann')),
    );
    const held = stack.holding('kept');
    const handle = await spawn(client, held.task);
    const waiting = client.get(`/api/runs/${handle}?waitSeconds=60`);
    await held.held;
    // It waits: so much can be seen of it.
    await vi.waitFor(async () => {
      expect(await stack.metric('fermata_mcp_watched_runs', server)).toBe(1);
    }, bound);
    await server.close();
    expect(await waiting).toMatchObject({ status: 200, body: { status: 'Running', result: null } });
    held.release();
    expect(await untilEnded(ann, handle)).toMatchObject({ result: 'kept' });
  });
});

describe('the list', () => {
  it('shows by page every run that is there all the time, while others start and end', async () => {
    const words = `batch ${randomUUID()}`;
    const spawnOne = async (): Promise<string> => await spawn(bob, `${words} ${stack.saying('x')}`);
    const first: string[] = [];
    for (let group = 0; group < 3; group += 1) {
      first.push(...(await Promise.all(Array.from({ length: 5 }, spawnOne))));
    }
    for (const handle of first) await untilEnded(bob, handle);
    await untilListed(bob, 'limit=200', first);
    const seen: string[] = [];
    let cursor = '';
    let pages = 0;
    do {
      const [page] = await Promise.all([list(bob, `limit=4${cursor}`), pages < 3 ? spawnOne() : null]);
      seen.push(...page.runs.map(({ handle }) => handle));
      expect(page.runs.length).toBeLessThanOrEqual(4);
      cursor = page.nextCursor === null ? '' : `&cursor=${encodeURIComponent(page.nextCursor)}`;
      pages += 1;
    } while (cursor !== '' && pages < 100);
    expect(seen).toEqual(expect.arrayContaining(first));
    expect(first.map((handle) => seen.filter((one) => one === handle).length)).toEqual(first.map(() => 1));

    const found: string[] = [];
    cursor = '';
    do {
      const page = await list(bob, `limit=5&text=${encodeURIComponent(words.toUpperCase())}${cursor}`);
      found.push(...page.runs.map(({ handle }) => handle));
      cursor = page.nextCursor === null ? '' : `&cursor=${encodeURIComponent(page.nextCursor)}`;
    } while (cursor !== '');
    expect(found).toEqual(expect.arrayContaining(first));
    expect((await list(bob, 'text=no-such-words')).runs).toEqual([]);
    const { nextCursor } = await list(bob, 'limit=1');
    const other = await bob.get(`/api/runs?limit=1&class=batch&cursor=${String(nextCursor)}`);
    expect(other).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('another filter') } },
    });
    // Another\u2019s cursor shows no more than one\u2019s own list does.
    expect((await ann.get(`/api/runs?limit=1&cursor=${String(nextCursor)}`)).status).toBe(400);
  });

  it('filters by status, several at once, by class, caller and time', async () => {
    const startedAt = new Date();
    const done = await spawn(ann, stack.saying('x'), { serviceClass: 'batch' });
    const held = stack.holding('y');
    const running = await spawn(ann, held.task);
    await held.held;
    await untilEnded(ann, done);
    const since = `startedAfter=${startedAt.toISOString()}`;
    await untilListed(ann, `status=Completed&status=Running&${since}`, [done, running]);
    const handles = async (query: string): Promise<string[]> =>
      (await list(ann, `${query}&${since}`)).runs.map(({ handle }) => handle);
    expect(await handles('status=Completed')).toEqual([done]);
    expect(await handles('status=Running,Failed')).toEqual([running]);
    expect(await handles('class=batch')).toEqual([done]);
    expect(await handles('caller=ann&root=true')).toEqual([running, done]);
    expect(
      (await list(ann, `startedBefore=${startedAt.toISOString()}&limit=200`)).runs.map(
        ({ handle }) => handle,
      ),
    ).not.toContain(done);
    expect((await list(ops, `caller=bob&${since}`)).runs).toEqual([]);
    expect((await list(ops, `caller=ann&${since}`)).runs).toHaveLength(2);
    await stack.temporal.workflow.getHandle(running).terminate('by hand');
    await vi.waitFor(async () => expect(await handles('status=Failed')).toEqual([running]), bound);
    expect(await handles('status=Running')).toEqual([]);
    held.release();
  });
});

describe('two principals', () => {
  it('are told of each other\u2019s runs at no route: the answer is that of a run that never was', async () => {
    const neverWas = 'run_0000000000000000000000';
    const handle = await spawn(ann, stack.lookingUp('mine'), { approveTools: ['desk__lookup'] });
    const id = await untilOpen(ann, handle);
    const asks: ((of: string) => Promise<ApiReply>)[] = [
      (of) => bob.get(`/api/runs/${of}`),
      (of) => bob.get(`/api/runs/${of}?waitSeconds=1`),
      (of) => bob.get(`/api/runs/${of}/transcript`),
      (of) => bob.get(`/api/runs/${of}/timeline`),
      (of) => bob.get(`/api/runs/${of}/live`),
      (of) => bob.get(`/api/tree/${of}`),
      (of) => bob.post(`/api/runs/${of}/cancel`, { reason: 'not mine' }),
      (of) => bob.post(`/api/runs/${of}/approvals/${id}`, { allow: true }),
      (of) => bob.post('/api/runs', { task: 't', parent: of }),
    ];
    for (const ask of asks) {
      const [other, none] = [await ask(handle), await ask(neverWas)];
      expect([other.status, other.body?.['error']]).toEqual([
        404,
        expect.objectContaining({ code: 'unknown_handle' }),
      ]);
      expect(JSON.stringify(other.body).replaceAll(handle, 'X')).toBe(
        JSON.stringify(none.body).replaceAll(neverWas, 'X'),
      );
    }
    await untilListed(ann, 'limit=200', [handle]);
    const pages = [await list(bob, 'limit=200'), await list(bob, 'limit=200&status=AwaitingApproval')];
    expect(JSON.stringify(pages)).not.toContain(handle);
    expect((await ann.get(`/api/runs/${handle}`)).body).toMatchObject({ status: 'AwaitingApproval' });
    expect((await ops.get(`/api/tree/${handle}`)).status).toBe(200);
    await ops.post(`/api/runs/${handle}/cancel`);
  });

  it('see their own runs at work in the pool, and an admin all', async () => {
    const held = stack.holding('x');
    const handle = await spawn(ann, held.task);
    await held.held;
    const runsOf = async (client: ApiClient): Promise<string> =>
      JSON.stringify((await client.get('/api/pool')).body?.['runs']);
    expect(await runsOf(ann)).toContain(handle);
    expect(await runsOf(ops)).toContain(handle);
    expect(await runsOf(bob)).not.toContain(handle);
    held.release();
    await untilEnded(ann, handle);
  });
});

describe('events', () => {
  function heard(listener: Listener, handle: string): string[] {
    return listener.events.flatMap(({ event, data }) => {
      if (event === 'run' && (data['run'] as { handle: string }).handle === handle)
        return [`run ${String(data['change'])}`];
      return event === 'approval' && data['handle'] === handle ? [`approval ${String(data['change'])}`] : [];
    });
  }

  it('tell each listener of its own runs, and of what it missed when it comes back', async () => {
    const [own, others, all] = await Promise.all([ann.listen(), bob.listen(), ops.listen()]);
    for (const { events } of [own, others, all])
      expect(events[0]).toMatchObject({ event: 'ready', data: { missed: false } });
    const handle = await spawn(ann, stack.lookingUp('told'), { approveTools: ['desk__lookup'] });
    const id = await untilOpen(ann, handle);
    await vi.waitFor(() => expect(heard(own, handle)).toContain('approval opened'), bound);
    const opened = own.events.find(({ event, data }) => event === 'approval' && data['handle'] === handle);
    expect(opened?.data).toMatchObject({
      change: 'opened',
      opened: { id, tool: 'desk__lookup' },
      decided: null,
    });
    const lastId = own.lastId();
    await own.close();
    await ann.post(`/api/runs/${handle}/approvals/${id}`, { allow: true });
    await untilEnded(ann, handle);
    await vi.waitFor(() => expect(heard(all, handle).at(-1)).toBe('run ended'), bound);
    expect(heard(all, handle)).toEqual(
      expect.arrayContaining(['run started', 'approval opened', 'approval decided']),
    );
    const again = await ann.listen(lastId);
    await vi.waitFor(() => expect(heard(again, handle).at(-1)).toBe('run ended'), bound);
    expect(again.events[0]).toMatchObject({ event: 'ready', data: { missed: false }, id: null });
    expect(heard(again, handle)).toContain('approval decided');
    expect(heard(again, handle)).not.toContain('run started');
    const unknown = await ann.listen('0123456789ab-7');
    expect(unknown.events[0]).toMatchObject({ event: 'ready', data: { missed: true } });
    expect(heard(others, handle)).toEqual([]);
    expect(JSON.stringify(others.events)).not.toContain(handle);
    for (const listener of [others, all, again, unknown]) await listener.close();
  });

  it('tell of the pool, without where it is to who is no admin, and of what has changed in it', async () => {
    const [own, all] = await Promise.all([ann.listen(), ops.listen()]);
    const poolOf = (listener: Listener) =>
      listener.events.findLast(({ event }) => event === 'pool')?.data['pool'];
    await vi.waitFor(() => {
      expect(poolOf(own)).toMatchObject({ replicas: [{ id: 'sim', url: null }] });
      expect(poolOf(all)).toMatchObject({ replicas: [{ id: 'sim', url: stack.engine.url }] });
    }, bound);
    const held = stack.holding('x');
    const handle = await spawn(ann, held.task);
    await held.held;
    await vi.waitFor(() => expect(poolOf(all)).toMatchObject({ replicas: [{ inFlight: 1 }] }), bound);
    held.release();
    await untilEnded(ann, handle);
    await vi.waitFor(() => expect(poolOf(own)).toMatchObject({ replicas: [{ inFlight: 0 }] }), bound);
    await own.close();
    await all.close();
  });

  it('say when Temporal is away, go on when it is back, and end when the server stops', async () => {
    const relay = await startCutRelay(inject('temporalAddress'));
    const server = await stack.startServer({
      temporal: { address: relay.address, namespace: 'default' },
      temporalCallMs: 500,
    });
    const client = new ApiClient(
      server.url,
      await readDocument(server.url, bearer(serviceToken)),
      bearer(tokenOf('ann')),
    );
    const listener = await client.listen();
    relay.cut();
    await vi.waitFor(
      () =>
        expect(listener.events.at(-1)).toMatchObject({
          event: 'trouble',
          data: { fault: expect.stringContaining('Temporal at') },
        }),
      bound,
    );
    expect((await client.get('/api/runs')).status).toBe(503);
    await expect(client.listen()).rejects.toThrow('HTTP 503');
    const handle = await spawn(ann, stack.saying('meanwhile'));
    await untilEnded(ann, handle);
    relay.mend();
    await vi.waitFor(() => expect(heard(listener, handle).at(-1)).toBe('run ended'), bound);
    expect(listener.events.findLast(({ event }) => event === 'trouble')).toMatchObject({
      data: { fault: null },
    });
    await server.close();
    await listener.ended;
    await relay.close();
  });
});

describe('docs/run-api.md', () => {
  it('has commands that work, one after the other, without a token', async () => {
    const text = await readFile(new URL('../../../docs/run-api.md', import.meta.url), 'utf8');
    const commands = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block ?? '');
    expect(commands.length).toBeGreaterThan(4);
    const server = await createMcpServer(stack.config, {
      logger: pino({ level: 'silent' }),
      access: { ...openAccess, serviceToken },
    });
    const script = commands.join('\n').replaceAll('http://127.0.0.1:7000', server.url);
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
      env: {
        PATH: process.env['PATH'],
        TASK: stack.lookingUp('x').replaceAll('"', '\\"'),
        TOOL: 'desk__lookup',
      },
    });
    for (const words of [
      '"existing":false',
      '"status":"Completed"',
      '"spans":',
      '"allow":true',
      'event: ready',
    ]) {
      expect(stdout).toContain(words);
    }
    await server.close();
  });

  it('names every route of the document, and every event', async () => {
    const text = await readFile(new URL('../../../docs/run-api.md', import.meta.url), 'utf8');
    const document = (await readDocument(stack.server.url, bearer(serviceToken))) as {
      paths: Record<string, Record<string, unknown>>;
    };
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const method of Object.keys(methods))
        expect(text).toContain(`\`${method.toUpperCase()} ${path}\``);
    }
    for (const name of Object.keys(eventSchemas)) expect(text).toContain(`| \`${name}\` |`);
  });
});

describe('without a worker', () => {
  it('what needs one says so, and all else is answered', async () => {
    const done = await spawn(ann, stack.saying('kept'));
    await untilEnded(ann, done);
    const server = await stack.startServer({
      taskQueue: stack.config.taskQueue,
      transcriptMs: 1_000,
      toolListingMs: 1_000,
    });
    await stack.worker.close();
    const client = new ApiClient(
      server.url,
      await readDocument(server.url, bearer(serviceToken)),
      bearer(tokenOf('ann')),
    );
    for (const path of [`/api/runs/${done}/transcript`, '/api/tools']) {
      expect(await client.get(path)).toMatchObject({
        status: 503,
        body: { error: { code: 'unavailable', message: expect.stringContaining('no worker answered') } },
      });
    }
    expect((await client.get(`/api/runs/${done}`)).body).toMatchObject({ result: 'kept' });
    const handle = await spawn(client, stack.saying('later'));
    expect((await client.get(`/api/tree/${handle}`)).body).toMatchObject({
      runs: [{ handle, status: 'Running' }],
    });
    expect(await client.post(`/api/runs/${handle}/cancel`)).toMatchObject({
      status: 200,
      body: { later: true },
    });
  });
});

describe('the OpenAPI document', () => {
  it('has been true of a real answer of every operation', async () => {
    await ann.get('/api/me');
    await ann.get('/api/openapi.json');
    await ann.get('/api/config');
    const { body } = await ann.get('/api/runs?limit=1');
    await ann.get(`/api/runs/${String((body as { runs: { handle: string }[] }).runs[0]?.handle)}/live`);
    await ann.post('/api/decide', { input: 'is it?', labels: ['yes', 'no'] });
    const document = (await readDocument(stack.server.url, bearer(serviceToken))) as {
      paths: Record<string, Record<string, unknown>>;
    };
    const operations = Object.entries(document.paths).flatMap(([path, some]) =>
      Object.keys(some).map((method) => `${method} ${path}`),
    );
    const seen = new Set(
      [...ann.seen, ...bob.seen, ...ops.seen]
        .filter((one) => / 20[01]$/.test(one))
        .map((one) => one.replace(/ 20[01]$/, '')),
    );
    // Its events are each held against it as they come.
    expect(operations.filter((one) => !seen.has(one))).toEqual(['get /api/tools', 'get /api/events']);
  });
});
