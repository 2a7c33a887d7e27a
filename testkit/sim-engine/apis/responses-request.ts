/** The body of OpenAI's `POST /v1/responses`, read leniently; what is not understood is passed over. */
import { z } from 'zod';
import type { JsonSchema, SimMessage } from '../core/conversation.ts';
import type { ReplyRequest } from '../core/script.ts';
import { BadRequest, type ApiContext, type ApiRequest } from './api.ts';
import { anyAnswerSchema } from './chat-request.ts';
import { callsOf, generateReply, textOf } from './generative-reply.ts';
import { directivesOf, readBody, textMessage } from './read-body.ts';
import { functionsOf, inputSchema, messagesOf, toolSchema, type NamespacedTool } from './responses-items.ts';
import { responsesWriter } from './responses-reply.ts';

const bodySchema = z.looseObject({
  model: z.string().optional(),
  input: inputSchema,
  instructions: z.string().nullish(),
  tools: z.array(toolSchema).nullish(),
  tool_choice: z
    .union([z.enum(['auto', 'none', 'required']), z.looseObject({ name: z.string().optional() })])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  previous_response_id: z.string().nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  text: z
    .looseObject({
      format: z
        .looseObject({ type: z.string(), schema: z.record(z.string(), z.unknown()).optional() })
        .nullish(),
    })
    .nullish(),
});
type ResponsesBody = z.infer<typeof bodySchema>;

/** @throws BadRequest when `body` is no such request, or names a response that is not kept. */
export function readResponses(body: unknown, context: ApiContext): ApiRequest {
  const request = readBody(bodySchema, body);
  const conversation = [...previousMessages(request, context), ...messagesOf(request.input)];
  if (conversation.length === 0) throw new BadRequest(400, 'input: expected at least one message');
  const tools = functionsOf(request.tools ?? []);
  const { plan, calls, turn } = generateReply(replyRequest(request, conversation, tools), context, 'call_');
  const id = context.uniqueId('resp_');
  const reply: SimMessage = {
    role: 'assistant',
    text: textOf(plan.pieces),
    toolCalls: callsOf(plan.pieces, calls),
    toolCallId: null,
  };
  return {
    ...turn,
    id,
    model: request.model ?? null,
    stream: request.stream ?? false,
    writer: responsesWriter({
      id,
      request,
      model: context.model,
      plan,
      calls: calls.map((call) => ({
        ...call,
        itemId: context.uniqueId('fc_'),
        namespace: tools.find(({ name }) => name === call.name)?.namespace ?? null,
      })),
      messageId: context.uniqueId('msg_'),
      onEnd: () => {
        if (request.store !== false) context.responses.keep(id, [...conversation, reply]);
      },
    }),
  };
}

function previousMessages(request: ResponsesBody, { responses }: ApiContext): readonly SimMessage[] {
  const id = request.previous_response_id;
  if (id === null || id === undefined) return [];
  const messages = responses.find(id);
  if (messages === null) throw new BadRequest(404, `Response with id '${id}' not found.`);
  return messages;
}

function replyRequest(
  request: ResponsesBody,
  conversation: readonly SimMessage[],
  tools: readonly NamespacedTool[],
): ReplyRequest {
  // The instructions hold for this response only, so they are no part of the conversation that is kept.
  const { instructions } = request;
  const messages = [
    ...(typeof instructions === 'string' ? [textMessage('system', instructions)] : []),
    ...conversation,
  ];
  const choice = request.tool_choice ?? 'auto';
  const named = typeof choice === 'object' && choice.name !== undefined ? { name: choice.name } : 'auto';
  return {
    messages,
    tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    toolChoice: typeof choice === 'string' ? choice : named,
    parallelToolCalls: request.parallel_tool_calls ?? true,
    maxTokens: request.max_output_tokens ?? null,
    responseSchema: wantedSchema(request),
    directive: directivesOf(messages),
  };
}

function wantedSchema({ text }: ResponsesBody): JsonSchema | null {
  if (text?.format?.type === 'json_schema') return text.format.schema ?? { type: 'object' };
  return text?.format?.type === 'json_object' ? anyAnswerSchema : null;
}
