/**
 * An agent with a loop of its own and nothing else: asks an OpenAI endpoint, calls the tool over MCP, asks
 * again. No durability, no limits, no retries: the least that any sub-agent can cost.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Agent } from 'undici';
import { z } from 'zod';
import type { OfferedTool } from '../../testkit/sim-engine/core/conversation.ts';
import { ask, agentTimeoutMs, AskFault, type Answer } from '../agents/ask.ts';
import type { ChatMessage } from '../agents/dialogue.ts';
import type { WorkOutcome } from './outcome.ts';
import { seenName, type SubAgentWork, type WorkTool } from './work.ts';

export interface ToolDoor {
  /** As it is offered to the model. */
  offered(tool: WorkTool): OfferedTool;
  call(tool: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<string>;
  close(): Promise<void>;
}

const resultSchema = z.looseObject({ content: z.array(z.looseObject({ text: z.string().optional() })) });
const argumentsSchema = z.record(z.string(), z.unknown());
const callTimeoutMs = 120_000;

/** @param url of the tool server, ends in `/mcp`. */
export async function openTools(url: string): Promise<ToolDoor> {
  const client = new Client(
    { name: 'bare-loop', version: '0.0.0' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { tools } = await client.listTools();
  return {
    offered(tool) {
      const found = tools.find(({ name }) => name === tool);
      if (found === undefined) throw new RangeError(`the tool server has no ${tool}`);
      const { $schema: _schema, ...parameters } = found.inputSchema;
      return { name: seenName(tool), description: found.description ?? '', parameters };
    },
    async call(tool, args, signal) {
      const result = await client.callTool(
        { name: tool, arguments: { ...args } },
        { timeout: callTimeoutMs, signal },
      );
      return resultSchema
        .parse(result)
        .content.map(({ text }) => text ?? '')
        .join('\n');
    },
    close: async () => await client.close(),
  };
}

export interface BareLoopSite {
  /** Without `/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly tool: WorkTool;
  readonly tools: ToolDoor;
  readonly dispatcher: Agent;
  readonly signal: AbortSignal;
}

/** Connections for many loops at once; whoever makes it destroys it. */
export function loopDispatcher(): Agent {
  return new Agent({ headersTimeout: agentTimeoutMs, bodyTimeout: agentTimeoutMs, pipelining: 0 });
}

/** @throws AbortError when the signal is aborted meanwhile. */
export async function runBareLoop({ task, calls }: SubAgentWork, site: BareLoopSite): Promise<WorkOutcome> {
  const offered = site.tools.offered(site.tool);
  const messages: ChatMessage[] = [{ role: 'user', content: task }];
  const counts = { toolCalls: 0, promptTokens: 0, completionTokens: 0 };
  try {
    // One turn more than calls, for the answer; a model that goes on calling is stopped there.
    for (let turn = 0; turn <= calls; turn += 1) {
      const answer = await ask(site.dispatcher, {
        baseUrl: site.baseUrl,
        model: site.model,
        messages,
        fields: { tools: [{ type: 'function', function: offered }] },
        headers: {},
        signal: site.signal,
      });
      counts.promptTokens += answer.usage?.promptTokens ?? 0;
      counts.completionTokens += answer.usage?.outputTokens ?? 0;
      if (answer.calls.length === 0) return { fault: null, answer: answer.content, ...counts };
      messages.push(spoken(answer), ...(await results(answer, site)));
      counts.toolCalls += answer.calls.length;
    }
    return { fault: 'it went on calling tools', answer: null, ...counts };
  } catch (error) {
    if (site.signal.aborted || !(error instanceof AskFault)) throw error;
    return { fault: error.message, answer: null, ...counts };
  }
}

function spoken({ content, calls }: Answer): ChatMessage {
  return {
    role: 'assistant',
    content: content === '' ? null : content,
    tool_calls: calls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    })),
  };
}

async function results({ calls }: Answer, { tools, tool, signal }: BareLoopSite): Promise<ChatMessage[]> {
  return await Promise.all(
    calls.map(async (call): Promise<ChatMessage> => {
      const args = argumentsSchema.parse(JSON.parse(call.arguments));
      return { role: 'tool', tool_call_id: call.id, content: await tools.call(tool, args, signal) };
    }),
  );
}
