/**
 * Items of OpenAI's responses, in and out of a conversation. A reply's text and its calls are items of
 * their own and one message of the model: read back, they are put together again, so that the conversation
 * has the same tokens as when it was produced.
 */
import { z } from 'zod';
import type { OfferedTool, SimMessage } from '../core/conversation.ts';
import { contentImages, contentText, imagesField, textMessage } from './read-body.ts';

const partSchema = z.looseObject({ type: z.string(), text: z.string().optional() });
const textsSchema = z.union([z.string(), z.array(partSchema)]);

const itemSchema = z.looseObject({
  type: z.string().default('message'),
  role: z.enum(['user', 'assistant', 'system', 'developer']).optional(),
  content: textsSchema.nullish().catch(null),
  call_id: z.string().optional(),
  name: z.string().optional(),
  arguments: z.string().optional(),
  /** Of a call to a tool that takes free text. */
  input: z.string().optional(),
  output: textsSchema.nullish().catch(null),
});
export const inputSchema = z.union([z.string(), z.array(itemSchema)]);

/** What an item that is no message, call or result of a call says, such as reasoning, is passed over. */
export function messagesOf(input: z.infer<typeof inputSchema>): SimMessage[] {
  if (typeof input === 'string') return [textMessage('user', input)];
  const messages: SimMessage[] = [];
  for (const item of input) {
    if (item.type === 'message') {
      const role = item.role === 'developer' ? 'system' : (item.role ?? 'user');
      messages.push({
        ...textMessage(role, contentText(item.content)),
        ...imagesField(contentImages(item.content)),
      });
    } else if (item.type.endsWith('_call') && item.call_id !== undefined) addCall(messages, item);
    else if (item.type.endsWith('_call_output')) {
      const result = textMessage('tool', contentText(item.output));
      const images = imagesField(contentImages(item.output));
      messages.push({ ...result, ...images, toolCallId: item.call_id ?? null });
    }
  }
  return messages;
}

function addCall(messages: SimMessage[], item: z.infer<typeof itemSchema>): void {
  const last = messages.at(-1);
  const open = last?.role === 'assistant' ? last : textMessage('assistant', '');
  if (open === last) messages.pop();
  const call = {
    id: item.call_id ?? '',
    name: item.name ?? item.type,
    arguments: item.arguments ?? item.input ?? '{}',
  };
  messages.push({ ...open, toolCalls: [...open.toolCalls, call] });
}

const functionSchema = z.looseObject({
  type: z.string(),
  name: z.string().min(1).optional(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});
export const toolSchema = functionSchema.extend({ tools: z.array(functionSchema).optional() });

export interface NamespacedTool extends OfferedTool {
  /** null: none. */
  readonly namespace: string | null;
}

/** Functions, also those in a namespace; tools that the vendor runs itself are not called. */
export function functionsOf(tools: readonly z.infer<typeof toolSchema>[]): NamespacedTool[] {
  return tools.flatMap((tool) =>
    tool.type === 'namespace'
      ? (tool.tools ?? []).flatMap((inner) => asFunction(inner, tool.name ?? null))
      : asFunction(tool, null),
  );
}

function asFunction(tool: z.infer<typeof functionSchema>, namespace: string | null): NamespacedTool[] {
  if (tool.type !== 'function' || tool.name === undefined) return [];
  return [
    {
      name: tool.name,
      description: tool.description ?? '',
      parameters: tool.parameters ?? {},
      namespace,
    },
  ];
}
