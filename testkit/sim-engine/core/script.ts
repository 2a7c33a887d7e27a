/**
 * What the simulated model says: a seeded script that reads the conversation. Without a directive (see
 * directives.ts) it makes one to three tool calls over the run, one a turn, and then answers; the same
 * conversation gets the same reply. Without tools, or when tools are forbidden, it answers. A wanted JSON
 * schema is answered with JSON that fits it.
 */
import { answerText, type NamedResult } from './answer-text.ts';
import { shapeCall, type ShapedCall } from './call-shapes.ts';
import {
  replyPieces,
  type JsonSchema,
  type OfferedTool,
  type Piece,
  type SimMessage,
} from './conversation.ts';
import { withoutDirectives, type CallShape, type DirectedCall, type Directive } from './directives.ts';
import { createGenerator, hashText, nextInteger, pick, type Generator } from './random.ts';
import { valueFor } from './schema-values.ts';

export interface ScriptOptions {
  readonly seed: number;
  /** Shapes of calls that no directive shapes; one is drawn for each call. */
  readonly shapes: readonly CallShape[];
  /** Tools that are called only when a directive says so or nothing else is offered. */
  readonly avoidTools: readonly string[];
}

export const defaultScriptOptions: ScriptOptions = {
  seed: 1,
  shapes: ['good'],
  avoidTools: ['delete_page', 'add_note', 'wait', 'fail', 'picture', 'long_text', 'hang'],
};

export interface ReplyRequest {
  readonly messages: readonly SimMessage[];
  readonly tools: readonly OfferedTool[];
  /** `{name}`: this tool must be called. */
  readonly toolChoice: 'auto' | 'none' | 'required' | { readonly name: string };
  readonly parallelToolCalls: boolean;
  readonly maxTokens: number | null;
  readonly responseSchema: JsonSchema | null;
  readonly directive: Directive;
}

export interface ReplyPlan {
  readonly content: string | null;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
  /** What is produced, one token each, cut at the request's limit; at least one. */
  readonly pieces: readonly Piece[];
  readonly finishReason: 'stop' | 'tool_calls' | 'length';
  /** Tool results so far: 0 is the run's first turn. */
  readonly turn: number;
}

interface Script {
  readonly request: ReplyRequest;
  readonly task: string;
  readonly results: readonly NamedResult[];
  readonly generator: Generator;
  readonly options: ScriptOptions;
}

/** The reply to `request`. */
export function planReply(request: ReplyRequest, options: ScriptOptions): ReplyPlan {
  const script = readScript(request, options);
  const directed = request.toolChoice === 'none' || request.tools.length === 0 ? [] : callsOfTurn(script);
  const wanted = request.parallelToolCalls ? directed : directed.slice(0, 1);
  const shaped = wanted.map((call) => makeCall(call, script));
  const calls = shaped.filter((call) => call.asText === null);
  const content = contentOf(script, shaped);
  const pieces = replyPieces(content, calls);
  const limit = Math.max(1, request.maxTokens ?? Number.POSITIVE_INFINITY);
  const finishReason = calls.length > 0 ? 'tool_calls' : 'stop';
  return {
    content,
    calls,
    pieces: pieces.slice(0, limit),
    finishReason: pieces.length > limit ? 'length' : finishReason,
    turn: turnOf(request, script.results.length),
  };
}

function readScript(request: ReplyRequest, options: ScriptOptions): Script {
  const firstUser = request.messages.find((message) => message.role === 'user')?.text ?? '';
  const names = new Map(
    request.messages.flatMap((message) => message.toolCalls).map((call) => [call.id, call.name]),
  );
  const results = request.messages
    .slice(request.directive.from)
    .filter((message) => message.role === 'tool')
    .map((message) => ({
      tool: plainName(names.get(message.toolCallId ?? '') ?? 'tool'),
      text: message.text,
    }));
  return {
    request,
    task: withoutDirectives(firstUser),
    results,
    generator: createGenerator(hashText(`${firstUser}\n${results.length}`, options.seed)),
    options,
  };
}

/** Turns since the run began, by assistant messages; every turn but the last ends in calls. */
function turnOf(request: ReplyRequest, results: number): number {
  const replies = request.messages
    .slice(request.directive.from)
    .filter((message) => message.role === 'assistant').length;
  return results === 0 ? 0 : replies;
}

/** The tool's own name: what comes after the server's. */
function plainName(name: string): string {
  return name.includes('__') ? name.slice(name.indexOf('__') + 2) : name;
}

function matches(tool: OfferedTool, name: string): boolean {
  return tool.name === name || plainName(tool.name) === name;
}

function callsOfTurn(script: Script): readonly DirectedCall[] {
  const { directive, toolChoice } = script.request;
  if (directive.calls !== undefined) return directedCalls(directive, script.results.length);
  if (typeof toolChoice === 'object') return [{ tool: toolChoice.name }];
  const firstUser = script.request.messages.find((message) => message.role === 'user')?.text ?? '';
  const total = nextInteger(createGenerator(hashText(firstUser, script.options.seed)), 1, 3);
  if (script.results.length >= total && toolChoice !== 'required') return [];
  const tools = script.request.tools;
  const welcome = tools.filter((tool) => !script.options.avoidTools.some((name) => matches(tool, name)));
  const tool = pick(script.generator, welcome.length > 0 ? welcome : tools);
  return tool === undefined ? [] : [{ tool: tool.name }];
}

/** The rest of the turn that so many results lead to; none when all turns are done. */
function directedCalls(directive: Directive, results: number): readonly DirectedCall[] {
  const turns = (directive.calls ?? []).filter((turn) => turn.length > 0);
  const inOneRound = turns.reduce((sum, turn) => sum + turn.length, 0);
  if (inOneRound === 0 || results >= inOneRound * (directive.repeat ?? 1)) return [];
  let position = results % inOneRound;
  for (const turn of turns) {
    if (position < turn.length) return turn.slice(position);
    position -= turn.length;
  }
  return [];
}

function makeCall(call: DirectedCall, script: Script): ShapedCall {
  const { directive, tools } = script.request;
  const tool = tools.find((offered) => matches(offered, call.tool));
  const name = tool?.name ?? call.tool;
  const shape = call.shape ?? directive.shape ?? pick(script.generator, script.options.shapes) ?? 'good';
  if (call.rawArguments !== undefined) return { name, arguments: call.rawArguments, asText: null };
  const given =
    call.arguments ?? directive.toolArguments?.[call.tool] ?? directive.toolArguments?.[plainName(name)];
  const schema = tool?.parameters ?? {};
  const made = valueFor(
    { type: 'object', ...schema },
    {
      generator: script.generator,
      words: script.task.split(/\s+/).filter(Boolean).slice(0, 40),
      everyProperty: shape === 'wrong-types',
      root: schema,
    },
  );
  return shapeCall(shape, name, given ?? (made as Record<string, unknown>));
}

function contentOf(script: Script, shaped: readonly ShapedCall[]): string | null {
  const { directive, responseSchema } = script.request;
  if (shaped.length > 0) {
    const written = shaped.flatMap((call) => call.asText ?? []);
    const parts = [...(directive.preface === undefined ? [] : [directive.preface]), ...written];
    return parts.length > 0 ? parts.join('\n') : null;
  }
  if (directive.answer !== undefined) return directive.answer === '' ? ' ' : directive.answer;
  if (responseSchema !== null) {
    const words = script.task.split(/\s+/).filter(Boolean).slice(0, 40);
    const source = { generator: script.generator, words, everyProperty: true, root: responseSchema };
    return JSON.stringify(valueFor(responseSchema, source));
  }
  return answerText(script.task, script.results, directive.answerTokens ?? null, script.generator);
}
