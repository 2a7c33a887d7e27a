/**
 * The body of Anthropic's `POST /v1/messages` and `/v1/messages/count_tokens`, read leniently: a system
 * prompt, tools with and without a schema (those of the vendor's own servers have none and are not called),
 * tool uses and results. Thinking blocks are passed over.
 */
import { z } from 'zod';
import { promptTokens, type OfferedTool, type SimMessage } from '../core/conversation.ts';
import type { ReplyRequest } from '../core/script.ts';
import type { ApiContext, ApiRequest } from './api.ts';
import { generateReply } from './generative-reply.ts';
import { messagesWriter } from './messages-reply.ts';
import { contentImages, contentText, directivesOf, imagesField, readBody, textMessage } from './read-body.ts';

const partSchema = z.looseObject({ type: z.string(), text: z.string().optional() });
const textsSchema = z.union([z.string(), z.array(partSchema)]);

const blockSchema = partSchema.extend({
  id: z.string().optional(),
  name: z.string().optional(),
  input: z.unknown().optional(),
  tool_use_id: z.string().optional(),
  content: textsSchema.nullish().catch(null),
});
type Block = z.infer<typeof blockSchema>;

const messageSchema = z.looseObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), z.array(blockSchema)]),
});

const toolSchema = z.looseObject({
  name: z.string().min(1),
  description: z.string().default(''),
  input_schema: z.record(z.string(), z.unknown()).optional(),
});

const countedShape = {
  model: z.string().optional(),
  system: textsSchema.nullish(),
  messages: z.array(messageSchema).min(1),
  tools: z.array(toolSchema).nullish(),
  tool_choice: z
    .looseObject({
      type: z.enum(['auto', 'any', 'tool', 'none']),
      name: z.string().optional(),
      disable_parallel_tool_use: z.boolean().nullish(),
    })
    .nullish(),
};
const countedSchema = z.looseObject(countedShape);
const bodySchema = z.looseObject({
  ...countedShape,
  max_tokens: z.int().min(1),
  stream: z.boolean().nullish(),
});

/** @throws BadRequest when `body` is no such request or holds a directive that cannot be read. */
export function readMessages(body: unknown, context: ApiContext): ApiRequest {
  const request = readBody(bodySchema, body);
  const { plan, calls, turn } = generateReply(replyRequest(request), context, 'toolu_');
  const id = context.uniqueId('msg_');
  return {
    ...turn,
    id,
    model: request.model ?? null,
    stream: request.stream ?? false,
    writer: messagesWriter({ id, model: context.model, plan, calls }),
  };
}

/** What `/v1/messages/count_tokens` answers: as many tokens as the same conversation is billed for. */
export function countTokens(body: unknown): { readonly model: string | null; readonly reply: object } {
  const request = readBody(countedSchema, body);
  const { messages, tools } = conversationOf(request);
  return {
    model: request.model ?? null,
    reply: { input_tokens: promptTokens(messages, tools).length },
  };
}

function replyRequest(request: z.infer<typeof bodySchema>): ReplyRequest {
  const { messages, tools } = conversationOf(request);
  const choice = request.tool_choice;
  const named = choice?.type === 'tool' && choice.name !== undefined ? { name: choice.name } : null;
  return {
    messages,
    tools,
    toolChoice: named ?? (choice?.type === 'any' ? 'required' : choice?.type === 'none' ? 'none' : 'auto'),
    parallelToolCalls: choice?.disable_parallel_tool_use !== true,
    maxTokens: request.max_tokens,
    responseSchema: null,
    directive: directivesOf(messages),
  };
}

function conversationOf(request: z.infer<typeof countedSchema>): {
  readonly messages: readonly SimMessage[];
  readonly tools: readonly OfferedTool[];
} {
  const system = contentText(request.system);
  return {
    messages: [
      ...(system === '' ? [] : [textMessage('system', system)]),
      ...request.messages.flatMap(({ role, content }) =>
        typeof content === 'string' ? [textMessage(role, content)] : asMessages(role, content),
      ),
    ],
    tools: (request.tools ?? []).flatMap(({ name, description, input_schema }) =>
      input_schema === undefined ? [] : [{ name, description, parameters: input_schema }],
    ),
  };
}

/** Results are messages of their own, before what the user says beside them. */
function asMessages(role: 'user' | 'assistant' | 'system', blocks: readonly Block[]): SimMessage[] {
  const results = blocks.filter(({ type }) => type === 'tool_result');
  const said = blocks.filter(({ type }) => !['tool_result', 'tool_use', 'thinking'].includes(type));
  const message: SimMessage = {
    role,
    text: contentText(said),
    ...imagesField(contentImages(said)),
    toolCalls: blocks
      .filter(({ type }) => type === 'tool_use')
      .map(({ id = '', name = '', input = {} }) => ({ id, name, arguments: JSON.stringify(input) })),
    toolCallId: null,
  };
  return [
    ...results.map((block): SimMessage => ({
      role: 'tool',
      text: contentText(block.content),
      ...imagesField(contentImages(block.content)),
      toolCalls: [],
      toolCallId: block.tool_use_id ?? null,
    })),
    ...(said.length > 0 || results.length === 0 ? [message] : []),
  ];
}
