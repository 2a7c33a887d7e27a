/** Case D01: results, answers, errors and arguments that are larger than Temporal takes. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WorkflowHandle } from '@temporalio/client';
import { constantFrom, integer, sample } from 'fast-check';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openAccess } from '../../auth/access.ts';
import { runMemoKey, runMemoSchema, transcriptQuery, type RunMemo } from '../../contracts/run.ts';
import { createMcpServer, type McpServerHandle } from '../../mcp-server/create-mcp-server.ts';
import type { FakeCall, FakeRequest } from '../activities/fake-model.ts';
import { caseFile, expectOf } from '../case-file.ts';
import { connectClient, type TestClient } from '../mcp-server/mcp-clients.ts';
import { httpServer, startRunStack, type RunStack } from './run-stack.ts';

const d01 = caseFile('D01');
const limits = expectOfEach();
const sizes = d01.given['variants'] as {
  readonly tool_result: number;
  readonly two_results_summing: readonly number[];
  readonly model_answer: number;
  readonly error_text: number;
  readonly spawn_argument: number;
};

function expectOfEach(): { readonly failures: number; readonly attempts: number; readonly seconds: number } {
  const each = d01.expect['each'] as Readonly<Record<string, number>>;
  return {
    failures: each['workflow_task_failures'] ?? NaN,
    attempts: each['activity_attempts_max'] ?? NaN,
    seconds: each['settled_within_s'] ?? NaN,
  };
}

let stack: RunStack;
let angry: Server;
let mcp: McpServerHandle;
let client: TestClient;

beforeAll(async () => {
  angry = await startAngryServer();
  stack = await startRunStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    script: (request) => request.say('no script'),
    toolServers: { angry: httpServer(`http://127.0.0.1:${(angry.address() as AddressInfo).port}/mcp`) },
  });
  mcp = await createMcpServer(
    {
      host: '127.0.0.1',
      port: 0,
      temporal: { address: inject('temporalAddress'), namespace: 'default' },
      taskQueue: stack.taskQueue,
      proxyUrl: stack.model.url,
    },
    { logger: pino({ level: 'silent' }), access: openAccess },
  );
  client = await connectClient('modern', `${mcp.url}/mcp`);
});
afterAll(async () => {
  await client?.close();
  await mcp?.close();
  await stack?.close();
  angry?.closeAllConnections();
  angry?.close();
});

/** A tool server whose every call fails with an error of as many bytes as it is asked for. */
async function startAngryServer(): Promise<Server> {
  const answers: Readonly<Record<string, (params: { arguments?: { bytes?: number } }) => object>> = {
    initialize: () => ({
      result: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'angry', version: '1' },
      },
    }),
    'tools/list': () => ({
      result: {
        tools: [{ name: 'shout', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }],
      },
    }),
    'tools/call': (params) => ({
      error: { code: -32_000, message: 'no! '.repeat((params.arguments?.bytes ?? 4) / 4) },
    }),
  };
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (bytes: Buffer) => (text += bytes.toString('utf8')));
    request.on('end', () => {
      const { id, method, params } = JSON.parse(text === '' ? '{}' : text) as {
        id?: number;
        method?: string;
        params?: { arguments?: { bytes?: number } };
      };
      const answer = answers[method ?? '']?.(params ?? {});
      if (id === undefined) response.writeHead(202).end();
      else {
        response.writeHead(200, { 'content-type': 'application/json' });
        const missing = { error: { code: -32_601, message: 'no such method' } };
        response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(answer ?? missing) }));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

interface Settled {
  readonly memo: RunMemo;
  /** What the model got of its tool calls. */
  readonly results: readonly string[];
  /** Requests at the model. */
  readonly turns: number;
}

/** Runs to the end, checks what the case expects of each variant, and tells the rest. */
async function settle(
  input: Record<string, unknown>,
  script: (request: FakeRequest) => void,
): Promise<Settled> {
  const before = stack.model.requests.length;
  stack.model.script(script);
  const startedMs = performance.now();
  const handle = await stack.start({ task: 'work', maxToolCalls: 100, ...input });
  await handle.result().catch(() => undefined);
  expect((performance.now() - startedMs) / 1_000).toBeLessThan(limits.seconds);
  await expectQuietHistory(handle);
  const memo = await stack.memo(handle);
  expect(['Completed', 'Failed']).toContain(memo.status);
  expect(memo.reason === null).toBe(memo.status === 'Completed');
  const transcript = await handle.query<{ role: string; content: string }[]>(transcriptQuery);
  return {
    memo,
    results: transcript.filter(({ role }) => role === 'tool').map(({ content }) => content),
    turns: stack.model.requests.length - before,
  };
}

/** No workflow task failed, and no activity was tried more often than the case allows. */
async function expectQuietHistory(handle: WorkflowHandle): Promise<void> {
  const { events = [] } = await handle.fetchHistory();
  const failed = (events ?? []).filter(
    (event) => event.workflowTaskFailedEventAttributes ?? event.workflowTaskTimedOutEventAttributes,
  );
  expect(failed).toHaveLength(limits.failures);
  const attempts = (events ?? []).map((event) => event.activityTaskStartedEventAttributes?.attempt ?? 0);
  expect(Math.max(...attempts)).toBeLessThanOrEqual(limits.attempts);
}

/** The size that a cut text says it had. */
function fullSize(text: string | undefined): number {
  return Number(/\d+ of (\d+) bytes/.exec(text ?? '')?.[1]);
}

/** Calls in the first turn, then an answer. */
const callOnce =
  (...calls: readonly FakeCall[]) =>
  (request: FakeRequest): void => {
    if (request.body.messages.some(({ role }) => role === 'tool')) request.say('done');
    else request.call(calls);
  };
const longText = (bytes: number, more: Record<string, unknown> = {}): FakeCall => ({
  name: 'kit__long_text',
  arguments: { bytes, ...more },
});

/** Characters of one to six bytes of JSON each. */
const characters = ['a', '"', '\u0001', 'é', '中', '😀'];

describe(`${d01.id} ${d01.title}`, () => {
  it('tool_result: the model sees a cut text with the full size, and goes on', async () => {
    expect(expectOf({ ...d01, expect: { each: {}, variants: d01.expect } }, 'tool_result')).toMatchObject({
      model_sees: 'a cut text with the full size and where the rest is',
    });
    for (const bytes of [sizes.tool_result, 2_097_152, 2_097_153, 4_194_305, 8_000_000]) {
      const { memo, results, turns } = await settle({}, callOnce(longText(bytes)));
      expect([memo.status, turns]).toEqual(['Completed', 2]);
      expect(results).toHaveLength(1);
      expect(Buffer.byteLength(results[0] ?? '')).toBeLessThanOrEqual(50_000);
      expect(fullSize(results[0])).toBe(bytes);
      expect(results[0]?.includes('cut here; ask the tool for a smaller part')).toBe(true);
    }
  });

  it.each([true, false])('two_results_summing, side by side %s: both are cut', async (parallelToolCalls) => {
    const calls = sizes.two_results_summing.map((bytes) => longText(bytes));
    const { memo, results, turns } = await settle({ parallelToolCalls }, callOnce(...calls));
    expect([memo.status, turns]).toEqual(['Completed', 2]);
    expect(results.map(fullSize)).toEqual(sizes.two_results_summing);
  });

  it.each([true, false])(
    'more results of one reply than a history may hold, side by side %s: some are told to come again',
    async (parallelToolCalls) => {
      const calls = Array.from({ length: 120 }, () => longText(60_000));
      const { memo, results } = await settle({ parallelToolCalls, maxToolCalls: 1_000 }, callOnce(...calls));
      expect(memo).toMatchObject({ status: 'Completed', counters: { toolCalls: 120, failedToolCalls: 70 } });
      expect(
        results.filter((text) => text.startsWith('Error: this call was not run: only the first')),
      ).toHaveLength(70);
      expect(results.slice(0, 50).every((text) => text.includes(' were cut here'))).toBe(true);
    },
  );

  it('model_answer: the run ends with the reason, after one try', async () => {
    const answers = [
      'x'.repeat(sizes.model_answer),
      ...sample(constantFrom(...characters), { numRuns: 6, seed: 1 }).map((one) => one.repeat(1_300_000)),
      // Fewer characters than are counted, but more bytes of JSON than are kept.
      '\u0001'.repeat(400_000),
    ];
    for (const text of answers) {
      const { memo, turns } = await settle({}, (request) => request.say(text));
      expect([memo.status, turns]).toEqual(['Failed', 1]);
      expect(memo.reason).toMatch(/^the model's reply is (longer than the|\d+ bytes)/);
    }
  });

  it('model_answer: arguments of a call count as well, and an answer below the limit is kept whole', async () => {
    const { memo, turns } = await settle(
      {},
      callOnce({ name: 'kit__add_note', arguments: { text: 'x'.repeat(sizes.model_answer) } }),
    );
    expect([memo.status, turns]).toEqual(['Failed', 1]);
    expect(memo.reason).toMatch(/^the model's reply is longer/);
    const before = stack.model.requests.length;
    stack.model.script((request) => request.say('y'.repeat(900_000)));
    const handle = await stack.start({ task: 'z'.repeat(700_000) });
    expect(await handle.result()).toMatchObject({ text: 'y'.repeat(900_000) });
    await expectQuietHistory(handle);
    expect(stack.model.requests.length - before).toBe(1);
  });

  it('error_text: of a tool, of its server and of an engine is cut, and none is tried again', async () => {
    const more = sample(integer({ min: 2_000_000, max: 7_900_000 }), { numRuns: 2, seed: 2 });
    for (const bytes of [sizes.error_text, ...more.map((size) => size - (size % 4))]) {
      const told = await settle({}, callOnce(longText(bytes, { failed: true })));
      expect(told.memo).toMatchObject({ status: 'Completed', counters: { failedToolCalls: 1 } });
      expect(told.results[0]?.slice(0, 12)).toBe('Error: long ');
      // The error is trimmed and begins with a word of ours.
      expect(Math.abs(fullSize(told.results[0]) - bytes)).toBeLessThan(10);
      const shouted = await settle({}, callOnce({ name: 'angry__shout', arguments: { bytes } }));
      expect(shouted.memo).toMatchObject({ status: 'Completed', counters: { failedToolCalls: 1 } });
      expect(shouted.results[0]?.slice(0, 10)).toBe('Error: no!');
      expect(Math.abs(fullSize(shouted.results[0]) - bytes)).toBeLessThan(10);
      expect(Buffer.byteLength(shouted.results[0] ?? '')).toBeLessThan(20_000);
      const refused = await settle({}, (request) =>
        request.json(400, { error: { message: 'e'.repeat(bytes), type: 'invalid_request_error' } }),
      );
      expect([refused.memo.status, refused.turns]).toEqual(['Failed', 1]);
      expect(refused.memo.reason).toMatch(/^400 .*eeee/);
      expect(refused.memo.reason?.length).toBeLessThanOrEqual(4_096);
    }
  });

  it('spawn_argument: is refused at once, in words, and nothing is started', async () => {
    const large = 'x'.repeat(sizes.spawn_argument);
    const requests: Record<string, unknown>[] = [
      { task: large },
      { task: 'x', system: large },
      { task: '\u0001'.repeat(500_000) },
      { task: 'x', tools: [large] },
      { task: 'x', model: large },
    ];
    const before = stack.model.requests.length;
    for (const request of requests) {
      const { text, isError } = await client.call('spawn', request);
      expect(isError).toBe(true);
      expect(text).toMatch(/at most 1048576 are taken|is not offered by any server|is not in the pool/i);
      expect(text.length).toBeLessThan(2_000);
    }
    expect(stack.model.requests.length).toBe(before);
  });

  it('spawn_argument: of a run that Temporal was given directly ends it with the reason', async () => {
    const { memo, turns } = await settle({ task: 'x'.repeat(1_600_000) }, (request) => request.say('hm'));
    expect([memo.status, turns]).toEqual(['Failed', 0]);
    expect(memo.reason).toMatch(/task and system prompt are 1600\d+ bytes; give the run a smaller task/);
    const names = Array.from({ length: 256 }, (_, index) => `${'n'.repeat(5_000)}${index}`);
    const missing = await settle({ tools: names }, (request) => request.say('hm'));
    expect(missing.memo.reason).toMatch(/^these tools are not to be had: nnn/);
    expect(missing.memo.reason?.length).toBeLessThanOrEqual(4_096);
  });

  it('approval of large arguments: readers see them cut, the tool gets them whole', async () => {
    const page = 'p'.repeat(400_000);
    stack.model.script(callOnce({ name: 'kit__delete_page', arguments: { page } }));
    const handle = await stack.start({ task: 'tidy up' });
    const memo = async (): Promise<RunMemo> => {
      const { memo: of } = await handle.describe();
      return runMemoSchema.parse(of?.[runMemoKey]);
    };
    await expect.poll(async () => (await memo()).status, { timeout: 20_000 }).toBe('AwaitingApproval');
    const [open] = (await memo()).pendingApprovals;
    expect(open?.arguments.length).toBeLessThanOrEqual(4_096);
    await handle.signal('approve', { id: open?.id });
    await handle.result();
    await expectQuietHistory(handle);
    const call = stack.tools.calls().lines.findLast(({ tool }) => tool === 'delete_page');
    expect(call?.arguments).toEqual({ page });
  });
});
