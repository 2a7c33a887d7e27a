/** One trace of a spawned run, from the MCP request down to engine and tool server, as a receiver gets it. */
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { runSpanId } from '../../telemetry/run-traces.ts';
import { eventually } from '../cli/run-up.ts';
import { startTestStack, type TestStack } from '../stack/start-test-stack.ts';
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from './otlp-receiver.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const callerSpan = '00f067aa0ba902b7';
const secret = 'the-secret-of-this-task';

const toolMessageSchema = z.object({
  method: z.literal('tools/call'),
  params: z.object({ name: z.string(), _meta: z.object({ traceparent: z.string() }) }),
});

let receiver: OtlpReceiver;
let stack: TestStack;
let client: McpClient;
/** Of each tool call: its name, and the trace context in header and message. */
const toolCalls: { name: string; header: unknown; meta: string }[] = [];

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  stack = await startTestStack({
    environment: receiver.environment(),
    engines: [{ timeScale: 0.01 }],
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
  expect(tops.map(({ name, parentSpanId }) => [name, parentSpanId]).toSorted()).toEqual([
    ['tools/call await', callerSpan],
    ['tools/call spawn', callerSpan],
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
  expect(atEngine.map(({ headers }) => headers['traceparent']).toSorted()).toEqual(
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
  for (const span of spans) {
    const parent = parentOf(span);
    if (parent === undefined || parent.name.startsWith('tools/call')) continue;
    expect(span.startMs, span.name).toBeGreaterThanOrEqual(parent.startMs - toleranceMs);
    if (span !== childRun) expect(span.endMs, span.name).toBeLessThanOrEqual(parent.endMs + toleranceMs);
  }
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
