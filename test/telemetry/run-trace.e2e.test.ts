/** One trace of a spawned run, from the MCP request down to engine and tool server, as a receiver gets it. */
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pino } from 'pino';
import { z } from 'zod';
import { logSerializers } from '../../auth/log-serializers.ts';
import { handlePattern } from '../../contracts/run-names.ts';
import { runSpanId } from '../../telemetry/run-traces.ts';
import { eventually } from '../cli/run-up.ts';
import { startTestStack, type TestStack } from '../stack/start-test-stack.ts';
import { allQueries, ownLabels } from './operator-files.ts';
import { readQuery } from './promql.ts';
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from './otlp-receiver.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const callerSpan = '00f067aa0ba902b7';
const secret = 'the-secret-of-this-task';
const secrets = {
  pool: 's3cret-of-the-pool',
  toolHeader: 's3cret-of-a-tool-header',
  toolEnv: 's3cret-of-a-tool-process',
  bearer: 's3cret-bearer',
  key: 's3cret-key',
  cookie: 's3cret-cookie',
};

const toolMessageSchema = z.object({
  method: z.literal('tools/call'),
  params: z.object({ name: z.string(), _meta: z.object({ traceparent: z.string() }) }),
});

let receiver: OtlpReceiver;
let stack: TestStack;
let client: McpClient;
/** What the services have logged, at all levels. */
const log: Record<string, unknown>[] = [];
/** Of each tool call: its name, and the trace context in header and message. */
const toolCalls: { name: string; header: unknown; meta: string }[] = [];

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  stack = await startTestStack({
    environment: { ...receiver.environment(), POOL_KEY: secrets.pool },
    engines: [{ timeScale: 0.01 }],
    replica: { apiKeyEnv: 'POOL_KEY' },
    toolHeaders: { 'x-own-key': secrets.toolHeader },
    moreToolServers: {
      broken: { command: 'false', args: [], env: { TOOL_KEY: secrets.toolEnv } },
    },
    logger: pino(
      { level: 'trace', serializers: logSerializers },
      { write: (line: string) => void log.push(JSON.parse(line) as Record<string, unknown>) },
    ),
    onToolMessage(message, headers) {
      const parsed = toolMessageSchema.safeParse(message);
      if (!parsed.success) return;
      const { name, _meta } = parsed.data.params;
      toolCalls.push({ name, header: headers['traceparent'], meta: _meta.traceparent });
    },
  });
  client = new McpClient(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(stack.mcpUrl)));
});
afterAll(async () => {
  await client.close();
  await stack.close();
  await receiver.close();
});

async function call(
  tool: string,
  args: Record<string, unknown>,
  traced: boolean,
): Promise<Record<string, unknown>> {
  const _meta = traced ? { _meta: { traceparent: `00-${traceId}-${callerSpan}-01` } } : {};
  const answer = await client.callTool({ name: tool, arguments: args, ..._meta });
  if (answer.isError === true) throw new Error(JSON.stringify(answer.content));
  return answer.structuredContent as Record<string, unknown>;
}

function task(calls: readonly string[], answer: string): string {
  return `${secret} [[sim ${JSON.stringify({ calls, answer })}]]`;
}

it('is complete, in order, with one root, and engine and tool server are in it', async () => {
  const { handle } = await call('spawn', { task: task(['lookup', 'deep_search'], 'done') }, true);
  const run = String(handle);
  const below = await call('spawn', { task: task([], 'done too'), parent: run }, false);
  const child = String(below['handle']);
  const awaited = await call('await', { handles: [run, child], timeoutSeconds: 60 }, true);
  expect(awaited['done']).toBe(true);
  const inTrace = (): ReceivedSpan[] => receiver.spans.filter((span) => span.traceId === traceId);
  await eventually(
    'the trace is whole',
    () => inTrace().filter(({ name }) => name === 'invoke_agent').length === 2 && inTrace().length >= 16,
  );
  const spans = inTrace();
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  expect(byId.size).toBe(spans.length);
  const parentOf = (span: ReceivedSpan | undefined): ReceivedSpan | undefined =>
    byId.get(span?.parentSpanId ?? '');
  const named = (name: string): ReceivedSpan[] =>
    spans.filter((span) => span.name === name).toSorted((a, b) => a.startMs - b.startMs);

  // One root: all that hangs on no span of ours hangs on the client's.
  const tops = spans.filter((span) => parentOf(span) === undefined);
  expect(tops.map(({ name, parentSpanId }) => `${name} below ${parentSpanId}`).toSorted()).toEqual([
    `tools/call await below ${callerSpan}`,
    `tools/call spawn below ${callerSpan}`,
  ]);

  const [whole] = named('invoke_agent').filter((span) => span.attributes['fermata.run.id'] === run);
  const [childRun] = named('invoke_agent').filter((span) => span.attributes['fermata.run.id'] === child);
  expect(whole?.spanId).toBe(runSpanId(run));
  expect(parentOf(whole)?.name).toBe('tools/call spawn');
  expect(parentOf(childRun)).toBe(whole);
  expect(whole?.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'fermata.run.status': 'Completed',
    'fermata.turns': 3,
    'fermata.tool_calls': 2,
  });
  const turns = named(`chat`)
    .concat(spans.filter(({ name }) => name.startsWith('chat ')))
    .toSorted((a, b) => a.startMs - b.startMs);
  const ofRun = turns.filter((span) => parentOf(span) === whole);
  expect(ofRun.map(({ attributes }) => attributes['fermata.turn'])).toEqual([1, 2, 3]);
  expect(turns.filter((span) => parentOf(span) === childRun)).toHaveLength(1);
  expect(ofRun.map(({ attributes }) => attributes['gen_ai.response.finish_reasons'])).toEqual([
    ['tool_calls'],
    ['tool_calls'],
    ['stop'],
  ]);
  for (const turn of turns) expect(turn.attributes['gen_ai.usage.output_tokens']).toBeGreaterThan(0);
  const tools = spans.filter(({ name }) => name.startsWith('execute_tool '));
  expect(tools.map(({ name }) => name)).toEqual(['execute_tool lookup', 'execute_tool deep_search']);
  for (const tool of tools) expect(parentOf(tool)).toBe(whole);

  // Each turn is one request at the proxy, admitted once, and the engine was told of that request.
  const requests = named('POST /v1/chat/completions');
  expect(requests.map(parentOf)).toEqual(turns);
  const admits = named('admit');
  expect(new Set(admits.map(parentOf))).toEqual(new Set(requests));
  expect(admits).toHaveLength(requests.length);
  const atEngine = stack.engines[0]?.requests().filter(({ method }) => method === 'POST') ?? [];
  expect(atEngine.map(({ headers }) => String(headers['traceparent'])).toSorted()).toEqual(
    requests.map(({ spanId }) => `00-${traceId}-${spanId}-01`).toSorted(),
  );
  expect(toolCalls).toEqual(
    tools.map(({ name, spanId }) => {
      const traceparent = `00-${traceId}-${spanId}-01`;
      return { name: name.replace('execute_tool ', ''), header: traceparent, meta: traceparent };
    }),
  );

  // In order: steps of a run one after the other, and everything within what it is part of.
  const steps = [...ofRun, ...tools].toSorted((a, b) => a.startMs - b.startMs);
  expect(steps.map(({ name }) => name.split(' ')[0])).toEqual([
    'chat',
    'execute_tool',
    'chat',
    'execute_tool',
    'chat',
  ]);
  for (const [index, step] of steps.entries()) {
    expect(step.startMs).toBeGreaterThanOrEqual((steps[index - 1]?.endMs ?? 0) - 1);
  }
  const toleranceMs = 2;
  const outlived = spans.filter((span) => {
    const parent = parentOf(span);
    // A request for a run has long been answered when the run ends.
    if (parent === undefined || parent.name.startsWith('tools/call') || span === childRun) return false;
    return span.startMs < parent.startMs - toleranceMs || span.endMs > parent.endMs + toleranceMs;
  });
  expect(outlived).toEqual([]);
  expect(new Set(spans.map(({ service }) => service))).toEqual(
    new Set(['fermata-mcp-server', 'fermata-worker', 'fermata-proxy']),
  );
  expect(spans.some(({ failed }) => failed)).toBe(false);

  // The request that began the child is in a trace of its own, and says where the run is.
  const [spawnedChild] = receiver.spans.filter(
    (span) => span.name === 'tools/call spawn' && span.attributes['fermata.run.id'] === child,
  );
  expect(spawnedChild?.traceId).not.toBe(traceId);
  expect(spawnedChild?.links).toEqual([{ traceId, spanId: childRun?.spanId }]);

  const exported = JSON.stringify(receiver.spans);
  expect(exported).not.toContain(secret);
  expect(exported).not.toContain('done too');
});

/** Each handle in a line, wherever it is. */
function handlesIn(line: Record<string, unknown>): string[] {
  return JSON.stringify(line).match(new RegExp(handlePattern.source.slice(1, -1), 'g')) ?? [];
}

it('every log line about a run or a turn names it and its trace, and none has a secret', async () => {
  const words = 'fails at first';
  const [engine] = stack.engines;
  engine?.failNext(
    { kind: 'error', status: 500 },
    { times: 1, match: ({ body }) => JSON.stringify(body).includes(words) },
  );
  const { handle } = await call('spawn', { task: `${words} ${task([], 'done')}` }, true);
  const run = String(handle);
  expect((await call('await', { handles: [run], timeoutSeconds: 60 }, true))['done']).toBe(true);
  const nobody = `run_${'x'.repeat(22)}`;
  await expect(call('status', { handle: nobody }, true)).rejects.toThrow(nobody);
  const origin = new URL(stack.mcpUrl).origin;
  const credentials = {
    authorization: `Bearer ${secrets.bearer}`,
    'x-api-key': secrets.key,
    cookie: `session=${secrets.cookie}`,
  };
  expect((await fetch(`${origin}/api/runs/${nobody}`, { headers: credentials })).status).toBe(404);
  const own = await fetch(`${stack.proxyUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      ...credentials,
      'x-fermata-run-id': 'own-loop',
      traceparent: `00-${traceId}-${callerSpan}-01`,
    },
    body: JSON.stringify({ model: 'no-such-model', messages: [{ role: 'user', content: secret }] }),
  });
  expect(own.status).toBe(404);
  const lines = (service: string): Record<string, unknown>[] =>
    log.filter((line) => line['service'] === service);
  await eventually('the proxy has told of it', () =>
    lines('proxy').some((line) => line['runName'] === 'own-loop'),
  );

  const text = JSON.stringify(log);
  for (const hidden of [secret, ...Object.values(secrets)]) expect(text).not.toContain(hidden);
  const unnamed = log.filter(
    (line) => handlesIn(line).length > 0 && typeof line['run'] !== 'string' && !Array.isArray(line['runs']),
  );
  expect(unnamed).toEqual([]);
  expect(log.filter((line) => line['turn'] !== undefined && line['run'] === undefined)).toEqual([]);

  expect(lines('worker')).toContainEqual(
    expect.objectContaining({ level: 40, msg: 'Activity failed', run, turn: 1, trace: traceId }),
  );
  const turns = lines('proxy').filter((line) => line['msg'] === 'turn' && line['run'] === run);
  expect(turns.map((line) => [line['outcome'], line['trace'], typeof line['turn']])).toEqual([
    ['refused', traceId, 'string'],
    ['done', traceId, 'string'],
  ]);
  expect(lines('mcp-server')).toContainEqual(
    expect.objectContaining({
      msg: 'tool call',
      tool: 'status',
      run: nobody,
      trace: traceId,
      outcome: 'fault',
    }),
  );
  expect(lines('mcp-server')).toContainEqual(
    expect.objectContaining({ msg: 'tool call', tool: 'spawn', run, trace: traceId, outcome: 'ok' }),
  );
  expect(lines('mcp-server')).toContainEqual(
    expect.objectContaining({ msg: 'api call refused', run: nobody, status: 404 }),
  );
  expect(lines('scheduler').length).toBeGreaterThan(0);
});

it('every series that dashboard and alerts ask for is at a service, with its labels', async () => {
  const origins = [stack.schedulerUrl, stack.proxyUrl, stack.workerUrl, new URL(stack.mcpUrl).origin];
  const texts = await Promise.all(origins.map(async (url) => await (await fetch(`${url}/metrics`)).text()));
  const text = texts.join('\n');
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  );
  const samples = new Map<string, Set<string>>();
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = samples.get(name) ?? new Set();
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label);
    samples.set(name, known);
  }
  const selectors = allQueries().flatMap(({ expr }) => readQuery(expr).selectors);
  const families = selectors.map(({ metric }) =>
    types.has(metric) ? metric : metric.replace(/_(bucket|sum|count)$/, ''),
  );
  expect(families.filter((name) => !types.has(name))).toEqual([]);
  const missing = selectors.flatMap(({ metric, matchers }) => {
    const known = samples.get(metric);
    // What has not happened yet has no samples.
    if (known === undefined) return [];
    return matchers.filter(({ label }) => !known.has(label) && !ownLabels.includes(label));
  });
  expect(missing).toEqual([]);
  const seen = new Set(selectors.filter(({ metric }) => samples.has(metric)).map(({ metric }) => metric));
  expect(seen.size).toBeGreaterThan(40);
  expect(text).toMatch(/^fermata_mcp_runs\{status="completed"\} [1-9]/m);
  expect(text).toMatch(/^fermata_worker_tool_calls_total\{server="web",outcome="ok"\} 2$/m);
  expect(text).toMatch(/^fermata_telemetry_spans_total\{outcome="exported"\} [1-9]/m);
  expect(text).not.toMatch(/run_[A-Za-z0-9]{22}/);
});
