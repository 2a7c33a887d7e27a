/**
 * What a call of 2026-07-28 that was answered with questions hands to its client, to get it back with the
 * answers: how the wait goes on, so that any server on the same runs can take it up, also after a restart.
 * Authenticated, not secret; good for an hour, for the same asker, tool and arguments.
 */
import { createHash, hkdfSync } from 'node:crypto';
import { createRequestStateCodec, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { handleSchema } from '../../contracts/ids.ts';
import type { Asker } from '../runs/asker.ts';
import { UserFault } from '../runs/user-fault.ts';

const waitStateSchema = z.object({
  /** Digest of who asked, with which tool and which arguments. */
  boundTo: z.string(),
  /** What `run` has started; null for `await`, whose arguments name its runs. */
  handle: handleSchema.nullable(),
  /** Of the time to wait, in milliseconds. */
  leftMs: z.number().min(0),
  /** How often the client has been asked in this call. */
  rounds: z.int().min(1),
  /** What these questions are about. */
  questions: z.array(z.object({ handle: handleSchema, approvalId: z.string(), tool: z.string() })).max(16),
  /** Ids of approvals that were asked about in this call, these included. */
  asked: z.array(z.string()),
  /** What the final answer tells of the decisions. */
  notes: z.array(z.string()),
});
export type WaitState = z.infer<typeof waitStateSchema>;

/** What the key follows from, the same on every server that serves the same runs. */
export interface StateKeySource {
  /** null: there is none. */
  readonly serviceToken: string | null;
  readonly temporal: { readonly address: string; readonly namespace: string };
}

export interface RequestStates {
  mint(state: WaitState): Promise<string>;
  /**
   * For the SDK, before a tool sees the call.
   * @returns what a {@link readWaitState} takes.
   * @throws when this was not made with our key; the SDK answers with -32602 and without a reason.
   */
  verify(text: string, context: ServerContext): Promise<unknown>;
}

const defaultTtlSeconds = 3_600;
const expired = 'expired';

/**
 * Without a service token everybody who reaches the server may approve whatever waits, so a state that anyone
 * could compute protects nothing more than there is to protect.
 */
function keyOf({ serviceToken, temporal }: StateKeySource): Uint8Array {
  const secret = serviceToken ?? JSON.stringify(['no token', temporal.namespace, temporal.address]);
  return new Uint8Array(hkdfSync('sha256', secret, '', 'fermata requestState', 32));
}

export function createRequestStates(source: StateKeySource, ttlSeconds = defaultTtlSeconds): RequestStates {
  const codec = createRequestStateCodec({ key: keyOf(source), ttlSeconds });
  return {
    mint: async (state) => await codec.mint(state),
    async verify(text, context) {
      try {
        return await codec.verify(text, context);
      } catch (error) {
        // It is ours, but old: its sender has done nothing wrong and is told what to do by the tool.
        if (error instanceof Error && error.message === expired) return expired;
        throw error;
      }
    },
  };
}

/** @param input arguments as parsed, in the order of their schema. */
export function bindingOf({ caller }: Asker, tool: string, input: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify([caller, tool, input]))
    .digest('base64url');
}

const again = {
  await: 'call await again with the same handles: what still waits is asked about anew',
  run: 'the run goes on; status without a handle lists it, and await waits for it',
} as const;

/**
 * @param verified what {@link RequestStates.verify} returned.
 * @throws UserFault when it is too old, or belongs to another call.
 */
export function readWaitState(verified: unknown, tool: 'await' | 'run', boundTo: string): WaitState {
  if (verified === expired) {
    throw new UserFault(
      'invalid',
      `the question is older than an hour, so nothing was decided; ${again[tool]}`,
    );
  }
  const state = waitStateSchema.safeParse(verified);
  if (
    !state.success ||
    state.data.boundTo !== boundTo ||
    (state.data.handle === null) !== (tool === 'await')
  ) {
    const words = `requestState belongs to another call (another caller, tool or other arguments), so nothing was decided`;
    throw new UserFault('invalid', `${words}; ${again[tool]}`);
  }
  return state.data;
}
