/**
 * What is told of the configuration: where it came from, since when it is in force, and what is wrong with
 * a newer one that is not. Served by the scheduler (`/status`), the worker (`/readyz`) and, with the
 * configuration itself, by the mcp-server (`/api/config`). Never holds a key, or a value of headers,
 * environments or arguments of tool servers.
 */
import { z } from 'zod';
import { callerConfigSchema, policySchema, replicaConfigSchema } from './config-file.ts';

/** Lines of faults that are told; more are counted in the last one. */
export const maxFaultLines = 20;

export const configFaultSchema = z.object({
  since: z.iso.datetime().describe('When the file was first found to be wrong.'),
  lines: z
    .array(z.string())
    .min(1)
    .max(maxFaultLines)
    .describe('One line a fault, such as `line 3, column 10: pool[0].url: must be an http:// address`.'),
});
export type ConfigFaultStatus = z.infer<typeof configFaultSchema>;

export const configStatusSchema = z.object({
  source: z.string().nullable().describe('Path of the file; null: the built-in pool, there is no file.'),
  loadedAt: z.iso.datetime().describe('Since when the configuration in force is in force.'),
  fault: configFaultSchema
    .nullable()
    .describe('Why the file as it is now is not in force; null: it is in force.'),
});
export type ConfigStatus = z.infer<typeof configStatusSchema>;

const limits = { idleTimeoutMs: z.number(), totalTimeoutMs: z.number() };

export const shownToolServerSchema = z.union([
  z.object({
    type: z.literal('stdio'),
    command: z.string(),
    args: z.number().describe('How many; they may hold keys.'),
    env: z.array(z.string()).describe('Names only.'),
    ...limits,
  }),
  z.object({
    type: z.literal('http'),
    url: z.string().describe('Without user, password and query.'),
    headers: z.array(z.string()).describe('Names only.'),
    ...limits,
  }),
]);

/** The configuration as it is shown. */
export const shownConfigSchema = z.object({
  pool: z.array(
    replicaConfigSchema.extend({
      url: z.string().describe('Without user, password and query.'),
      loadFrom: z.array(z.string()).optional(),
    }),
  ),
  policy: policySchema,
  toolServers: z.record(z.string(), shownToolServerSchema),
  callers: z.record(z.string(), callerConfigSchema),
});
export type ShownConfig = z.infer<typeof shownConfigSchema>;

/** The body of the mcp-server's `GET /api/config`. */
export const configViewSchema = z.object({
  services: z
    .array(
      z.object({
        service: z.enum(['scheduler', 'mcp-server']),
        config: configStatusSchema
          .nullable()
          .describe('null: it does not answer, or is of a version that does not tell.'),
      }),
    )
    .describe('Each reads the file by itself; with `npm start` they share one reading.'),
  config: shownConfigSchema
    .nullable()
    .describe('What is in force at the mcp-server; null: only an admin may see it, or there is no file.'),
});
export type ConfigView = z.infer<typeof configViewSchema>;
