/** The tools that sub-agents may use, as a worker lists them from its tool servers. */
import { z } from 'zod';

export const toolAnnotationsSchema = z.object({
  readOnlyHint: z.boolean().optional(),
  destructiveHint: z.boolean().optional(),
  idempotentHint: z.boolean().optional(),
});

export const listedToolSchema = z.object({
  /** What the model sees: fits `[A-Za-z0-9_-]{1,64}`, unique in the listing, the same on every worker. */
  name: z.string(),
  server: z.string(),
  /** The server's own name for it. */
  serverTool: z.string(),
  description: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
  annotations: toolAnnotationsSchema,
});
export type ListedTool = z.infer<typeof listedToolSchema>;

export const toolListingSchema = z.object({
  tools: z.array(listedToolSchema),
  /** One line for each server that could not be listed: its name and why. */
  warnings: z.array(z.string()),
});
export type ToolListing = z.infer<typeof toolListingSchema>;
