/**
 * The transcript of a run, in the shapes of OpenAI's chat completions, reduced to what fermata itself
 * writes: a system prompt, the task, the model's replies with their tool calls, and tool results.
 */
import { z } from 'zod';

export const toolCallSchema = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), /** JSON text as the model wrote it. */ arguments: z.string() }),
});
export type ToolCall = z.infer<typeof toolCallSchema>;

/** An image of a tool result, checked to be of a type that engines take. */
export const toolImageSchema = z.object({
  mimeType: z.string(),
  /** Base64, without line breaks. */
  data: z.string(),
});
export type ToolImage = z.infer<typeof toolImageSchema>;

export const chatMessageSchema = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: z.string() }),
  z.object({ role: z.literal('user'), content: z.string() }),
  z.object({
    role: z.literal('assistant'),
    content: z.string().nullable(),
    tool_calls: z.array(toolCallSchema).optional(),
  }),
  z.object({
    role: z.literal('tool'),
    tool_call_id: z.string(),
    /** Text, in which a line stands for each image. */
    content: z.string(),
    /** Only for a model that takes images; never empty. How an engine gets them is the worker's business. */
    images: z.array(toolImageSchema).optional(),
  }),
]);
export type ChatMessage = z.infer<typeof chatMessageSchema>;
export type AssistantMessage = Extract<ChatMessage, { role: 'assistant' }>;
export type ToolMessage = Extract<ChatMessage, { role: 'tool' }>;
