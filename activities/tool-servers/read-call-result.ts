/**
 * What a tool call is answered with, read leniently. Pure. The call has been made by then: what breaks the
 * protocol in one part of a result must not lose the others, or the model is told that the outcome is
 * unknown and calls again.
 */
import { z } from 'zod';
import { isRecord } from '../tool-calls/parse-arguments.ts';
import type { ToolServerResult } from '../tool-calls/render-result.ts';

/** Passed to the MCP client in place of its own strict schema. */
export const callResultSchema = z
  .looseObject({
    content: z.unknown().optional(),
    structuredContent: z.unknown().optional(),
    isError: z.unknown().optional(),
  })
  .transform(({ content, structuredContent, isError }): ToolServerResult => ({
    content: partsOf(content),
    structuredContent,
    isError: isError === true || isError === 'true',
  }));

function partsOf(content: unknown): Readonly<Record<string, unknown>>[] {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  return parts.flatMap((part) => {
    if (typeof part === 'string') return [{ type: 'text', text: part }];
    return isRecord(part) ? [part] : [];
  });
}
