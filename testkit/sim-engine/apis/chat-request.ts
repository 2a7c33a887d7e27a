/**
 * The body of `POST /v1/chat/completions`, read as engines do: lenient, unknown fields ignored, missing
 * ones defaulted.
 */
import { z } from 'zod';
import type { JsonSchema, OfferedTool, SimMessage } from '../core/conversation.ts';
import { firstTokenCandidates } from '../core/first-token.ts';
import type { ReplyRequest } from '../core/script.ts';
import { BadRequest, type ApiContext, type ApiRequest } from './api.ts';
import { chatWriter } from './chat-reply.ts';
import { generateReply } from './generative-reply.ts';
import { contentImages, contentText, directivesOf, imagesField, readBody } from './read-body.ts';

const contentSchema = z.union([
  z.string(),
  z.null(),
  z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
]);

const messageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: contentSchema.optional(),
  tool_call_id: z.string().optional(),
  tool_calls: z
    .array(
      z.looseObject({
        id: z.string().default(''),
        function: z.looseObject({ name: z.string(), arguments: z.string().default('{}') }),
      }),
    )
    .nullish(),
});

const toolSchema = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({
    name: z.string().min(1),
    description: z.string().default(''),
    parameters: z.record(z.string(), z.unknown()).default({}),
  }),
});

const bodySchema = z.looseObject({
  model: z.string().optional(),
  messages: z.array(messageSchema).min(1),
  tools: z.array(toolSchema).nullish(),
  tool_choice: z
    .union([
      z.enum(['auto', 'none', 'required']),
      z.looseObject({ function: z.looseObject({ name: z.string() }) }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  response_format: z
    .looseObject({
      type: z.string(),
      json_schema: z.looseObject({ schema: z.record(z.string(), z.unknown()).optional() }).optional(),
    })
    .nullish(),
});

/** @throws BadRequest when `body` is no chat request or holds a directive that cannot be read. */
export function readChat(body: unknown, context: ApiContext): ApiRequest {
  const request = readBody(bodySchema, body);
  const reply = replyRequest(request);
  const topLogprobs = request.logprobs === true ? (request.top_logprobs ?? 0) : null;
  const candidates =
    topLogprobs === null || reply.maxTokens !== 1
      ? null
      : firstTokenCandidates(reply.messages, reply.directive, context.script.seed);
  const { plan, calls, turn } = generateReply(reply, context, 'call_', candidates);
  const id = context.uniqueId('chatcmpl-');
  const includeUsage = request.stream_options?.include_usage ?? false;
  return {
    ...turn,
    id,
    model: request.model ?? null,
    stream: request.stream ?? false,
    writer: chatWriter({ id, model: context.model, plan, calls, candidates, topLogprobs, includeUsage }),
  };
}

function replyRequest(request: z.infer<typeof bodySchema>): ReplyRequest {
  const messages = request.messages.map(asMessage);
  const choice = request.tool_choice ?? 'auto';
  return {
    messages,
    tools: (request.tools ?? []).map(asTool),
    toolChoice: typeof choice === 'string' ? choice : { name: choice.function.name },
    parallelToolCalls: request.parallel_tool_calls ?? true,
    maxTokens: request.max_completion_tokens ?? request.max_tokens ?? null,
    responseSchema: wantedSchema(request.response_format),
    directive: directivesOf(messages),
  };
}

/** @throws BadRequest for an image where most engines take none: anywhere but in a message of the user. */
function asMessage(message: z.infer<typeof messageSchema>): SimMessage {
  const images = contentImages(message.content);
  if (images.length > 0 && message.role !== 'user') {
    throw new BadRequest(400, `image_url is only allowed in messages of role 'user', not '${message.role}'`);
  }
  return {
    role: message.role === 'developer' ? 'system' : message.role === 'function' ? 'tool' : message.role,
    text: contentText(message.content),
    ...imagesField(images),
    toolCalls: (message.tool_calls ?? []).map((call) => ({
      id: call.id,
      name: call.function.name,
      arguments: call.function.arguments,
    })),
    toolCallId: message.tool_call_id ?? null,
  };
}

function asTool(tool: z.infer<typeof toolSchema>): OfferedTool {
  return {
    name: tool.function.name,
    description: tool.function.description,
    parameters: tool.function.parameters,
  };
}

function wantedSchema(format: z.infer<typeof bodySchema>['response_format']): JsonSchema | null {
  if (format?.type === 'json_schema') return format.json_schema?.schema ?? { type: 'object' };
  return format?.type === 'json_object' ? anyAnswerSchema : null;
}

/** What a wish for any JSON object is answered with. */
export const anyAnswerSchema: JsonSchema = {
  type: 'object',
  properties: { answer: { type: 'string' } },
  required: ['answer'],
};
