/**
 * The four agents that spawn sub-agents over MCP: how each is started, how it names our tools, and how the
 * one script is put into the API of its model. Judges nothing.
 */
import type { Block } from './anthropic-stream.ts';
import type { Ended } from './bounded-process.ts';
import { toolCallsOf } from './chat-endpoint.ts';
import { settings as claudeModels } from './claude-code-proxy.ts';
import { runClaudeSession } from './claude-session.ts';
import type { ClientStack } from './client-stack.ts';
import { model as codexModel } from './codex.ts';
import { runCodexSession } from './codex-session.ts';
import { claudeKeys, codexKeys, geminiKeys, openCodeKeys } from './fleet-keys.ts';
import type { PersonSession } from './fleet-keys.ts';
import type { ScriptedCall, ScriptedReply, ToolExchange } from './fleet-script.ts';
import { geminiCallsOf, startGeminiEndpoint } from './gemini-endpoint.ts';
import type { GeminiPart } from './gemini-endpoint.ts';
import { runGeminiSession } from './gemini-session.ts';
import { toolUsesOf } from './messages-endpoint.ts';
import { runOpenCodeSession } from './opencode-session.ts';
import { functionCallsOf } from './responses-endpoint.ts';
import type { OutputItem } from './responses-stream.ts';

export interface FleetSession extends PersonSession {
  readonly program: string;
  readonly stack: ClientStack;
  /** What the agent takes for our MCP server. */
  readonly mcpUrl: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly variant: FleetVariant;
  /** Told the lines of its screen after each change, when there is one. */
  readonly looked?: (lines: readonly string[]) => void;
}

/**
 * How the agent is set up. `plain`: as everybody does first, without a person; `no forms`: without a person, and
 * it says so; `hook`: it answers forms by a rule of its own; `person`: at a terminal.
 */
export type FleetVariant = 'plain' | 'no forms' | 'hook' | 'person';

const noForms = { 'x-fermata-forms': 'off' };

/** What the model is told and says, each time it is asked with our tools at hand. */
export type Model = (tools: readonly string[], exchanges: readonly ToolExchange[]) => ScriptedReply;

export interface FleetClient {
  readonly name: string;
  /** What it puts before the names of our tools, in its list or in their namespace. */
  readonly prefix: string;
  /** Whether its model is asked through the proxy. */
  readonly modelAtProxy: boolean;
  /** Plays the model and runs one session to its end. */
  run(session: FleetSession, model: Model): Promise<Ended>;
}

const strip = (prefix: string, name: string): string =>
  name.startsWith(prefix) ? name.slice(prefix.length) : name;

/** The same calls under the names that the agent knows. */
function exchangesOf(prefix: string, calls: readonly ToolExchange[]): ToolExchange[] {
  return calls.map(({ name, result }) => ({ name: strip(prefix, name), result }));
}

interface Asked {
  readonly prefix: string;
  readonly tools: readonly string[];
  readonly calls: readonly ToolExchange[];
}

function replyOf<T>(
  model: Model,
  { prefix, tools, calls }: Asked,
  text: (text: string) => T,
  call: (call: ScriptedCall) => T,
): T[] {
  // A side request (a title, a summary) offers none of our tools.
  if (!tools.includes(`${prefix}spawn`)) return [text('A fan-out.')];
  const reply = model(
    tools.flatMap((name) => (name.startsWith(prefix) ? strip(prefix, name) : [])),
    exchangesOf(prefix, calls),
  );
  return 'text' in reply ? [text(reply.text)] : reply.calls.map(call);
}

export const claudeCodeFleet: FleetClient = {
  name: 'claude-code',
  prefix: 'mcp__fermata__',
  modelAtProxy: true,
  async run({ stack, variant, mcpUrl, env, ...session }, model) {
    const { prefix } = this;
    stack.messagesPair.play(async (_replica, { request }) => {
      const tools = request.tools.map(({ name }) => name);
      return await Promise.resolve(
        replyOf<Block>(
          model,
          { prefix, tools, calls: toolUsesOf(request) },
          (text) => ({ type: 'text', text }),
          ({ id, name, input }) => ({
            type: 'tool_use',
            id: `toolu_${id}`,
            name: prefix + name,
            input,
          }),
        ),
      );
    });
    return await runClaudeSession({
      ...session,
      ...(variant === 'hook' ? { settings: { hooks: formHook } } : {}),
      ...(variant === 'person' ? { keys: claudeKeys(session) } : {}),
      baseUrl: stack.proxyUrl,
      allowedTools: 'mcp__fermata',
      mcp: { url: mcpUrl, token: stack.token, headers: variant === 'no forms' ? noForms : {} },
      env: { ...env, ...claudeModels, ANTHROPIC_AUTH_TOKEN: stack.token },
    });
  },
};

const formHook = {
  Elicitation: [
    {
      matcher: 'fermata',
      hooks: [
        {
          type: 'command',
          command: `echo '${JSON.stringify({
            hookSpecificOutput: { hookEventName: 'Elicitation', action: 'accept', content: { allow: true } },
          })}'`,
        },
      ],
    },
  ],
};

export const codexFleet: FleetClient = {
  name: 'codex',
  prefix: 'mcp__fermata',
  modelAtProxy: true,
  async run({ stack, variant, ...session }, model) {
    const namespace = this.prefix;
    stack.responsesPair.play(async (_replica, { request }) => {
      const offered = JSON.stringify(request.tools.filter(({ name }) => name === namespace));
      const tools = offered.includes('"spawn"') ? ['spawn'] : [];
      return await Promise.resolve(
        replyOf<OutputItem>(
          model,
          { prefix: '', tools, calls: functionCallsOf(request) },
          (text) => ({ type: 'message', text }),
          ({ id, name, input }) => ({ type: 'function_call', callId: id, namespace, name, input }),
        ),
      );
    });
    const { proxyUrl, token } = stack;
    const headers = Object.entries(noForms).map(([name, value]) => `"${name}" = "${value}"`);
    return await runCodexSession({
      ...session,
      proxyUrl,
      token,
      model: codexModel,
      ...(variant === 'person' ? { keys: codexKeys(session) } : {}),
      mcpSettings: [
        // Else it asks before each of our tools that is not read-only.
        'default_tools_approval_mode = "approve"',
        ...(variant === 'no forms' ? [`http_headers = { ${headers.join(', ')} }`] : []),
      ],
    });
  },
};

export const openCodeFleet: FleetClient = {
  name: 'opencode',
  prefix: 'fermata_',
  modelAtProxy: true,
  async run({ stack, variant, ...session }, model) {
    const { prefix } = this;
    stack.chatPair.play(async (_replica, { request }) => {
      const tools = request.tools.map((tool) => tool.function.name);
      const asked = { prefix, tools, calls: toolCallsOf(request) };
      const reply = replyOf<{ text: string } | ScriptedCall>(
        model,
        asked,
        (text) => ({ text }),
        (call) => call,
      );
      const calls = reply.flatMap((one) => ('text' in one ? [] : [{ ...one, name: prefix + one.name }]));
      const [first] = reply;
      const text = first !== undefined && 'text' in first ? first.text : '';
      return await Promise.resolve(calls.length > 0 ? { tools: calls } : { text });
    });
    const { proxyUrl, token } = stack;
    const keys = variant === 'person' ? { keys: openCodeKeys(session) } : {};
    return await runOpenCodeSession({ ...session, ...keys, proxyUrl, token });
  },
};

export const geminiFleet: FleetClient = {
  name: 'gemini-cli',
  prefix: 'mcp_fermata_',
  modelAtProxy: false,
  async run({ stack, variant, ...session }, model) {
    const { prefix } = this;
    const endpoint = await startGeminiEndpoint((request) => {
      const tools = request.tools.flatMap((tool) => tool.functionDeclarations.map(({ name }) => name));
      return replyOf<GeminiPart>(
        model,
        { prefix, tools, calls: geminiCallsOf(request) },
        (text) => ({ text }),
        ({ id, name, input }) => ({ functionCall: { id, name: prefix + name, args: input } }),
      );
    });
    try {
      const keys = variant === 'person' ? { keys: geminiKeys(session) } : {};
      return await runGeminiSession({ ...session, ...keys, baseUrl: endpoint.url, token: stack.token });
    } finally {
      await endpoint.close();
    }
  },
};
