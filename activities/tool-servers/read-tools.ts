/**
 * A page of a server's list of tools, read leniently: what is wrong with one tool takes only that tool
 * off the list, and what is wrong with a hint or a description takes off only that. Pure.
 */
import { z } from 'zod';

const hint = z.boolean().optional().catch(undefined);

const toolSchema = z.object({
  name: z.string().min(1).max(1_000),
  title: z.string().optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  /** Absent from some servers' tools without parameters. */
  inputSchema: z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((schema) => ({ type: 'object', ...schema })),
  outputSchema: z.record(z.string(), z.unknown()).optional().catch(undefined),
  annotations: z
    .object({ readOnlyHint: hint, destructiveHint: hint, idempotentHint: hint })
    .optional()
    .catch(undefined),
});
export type ServerTool = z.infer<typeof toolSchema>;

/** What `tools/list` is answered with; passed to the MCP client in place of its own strict schema. */
export const toolPageSchema = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().nullish(),
});

/** @returns null for a tool that cannot be used. */
export function readTool(value: unknown): ServerTool | null {
  const read = toolSchema.safeParse(value);
  return read.success ? read.data : null;
}
