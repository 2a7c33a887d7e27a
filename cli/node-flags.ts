/**
 * Flags for Node of whatever carries turns: short-lived objects of many turns at once fit into the young
 * generation, so fewer of them are moved, and fewer times; one thread moves them, since helpers would have to be
 * waited for where other processes want the same cores; and all of the heap is marked again when it has doubled,
 * not when it has grown by a tenth (docs/decisions/2026-11-30-overhead-flags.md). In JSON, since `npm start` needs
 * them before anything of TypeScript can be loaded.
 */
import flags from './node-flags.json' with { type: 'json' };

export const nodeFlags: readonly string[] = flags;
