/**
 * Identifiers that cross a process boundary. Each is a branded string, so that a turn id can never be
 * passed where a run id is wanted. Making ids needs randomness and happens in the services; this file
 * only names and checks them.
 */
import { z } from 'zod';
import { handlePattern } from './run-names.ts';

/** A run: printable ASCII, 1 to 128 bytes. What fermata spawns itself is a {@link handlePattern} handle. */
export const runIdSchema = z
  .string()
  .regex(/^[\x21-\x7e][\x20-\x7e]{0,127}$/, 'must be 1 to 128 printable ASCII characters')
  .brand<'RunId'>();
export type RunId = z.infer<typeof runIdSchema>;

/** One model request of a run; made by the proxy that received it, kept across reconnects of the link. */
export const turnIdSchema = z.string().min(1).max(64).brand<'TurnId'>();
export type TurnId = z.infer<typeof turnIdSchema>;

/** One engine endpoint of the pool, as named in the configuration. */
export const replicaIdSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be 1 to 64 letters, digits, ".", "_" or "-"')
  .brand<'ReplicaId'>();
export type ReplicaId = z.infer<typeof replicaIdSchema>;

/** One proxy process; drawn anew at each of its starts. */
export const proxyIdSchema = z.string().min(1).max(64).brand<'ProxyId'>();
export type ProxyId = z.infer<typeof proxyIdSchema>;

/** Who asked: the unit of fairness. Cut at 128 bytes by whoever reads it from outside. */
export const callerSchema = z.string().min(1).max(128).brand<'Caller'>();
export type Caller = z.infer<typeof callerSchema>;

/** The caller of a request that names none. */
export const anonymousCaller = 'anonymous' as Caller;

/** The Temporal workflow id of a run that fermata started. */
export const handleSchema = z
  .string()
  .regex(handlePattern, 'must be a handle such as run_ followed by 22 letters and digits')
  .brand<'Handle'>();
export type Handle = z.infer<typeof handleSchema>;
