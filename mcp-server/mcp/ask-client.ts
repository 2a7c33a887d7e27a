/**
 * Whether and how the person behind a client can be asked something during a call: in the result of the
 * call (2026-07-28, which knows no requests of a server), or with a request on the stream of the call
 * (the versions before, stdio too). It knows nothing of approvals.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ElicitRequestFormParams,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

export type ClientAsking =
  | { readonly kind: 'in the result' }
  | {
      readonly kind: 'on the stream';
      /**
       * Shows one form.
       * @returns what the client answered, of whatever shape.
       * @throws what the client says went wrong; the signal's reason, and then the form is taken back.
       */
      ask(form: ElicitRequestFormParams, signal: AbortSignal): Promise<unknown>;
    };

const firstWithoutRequests = '2026-07-28';
/** Milliseconds; who asks sets the bound that counts. */
const longestMs = 3_600_000;
const pingMs = 10_000;

/** Forms are what `elicitation` meant before it had modes. */
const formsSchema = z
  .object({ elicitation: z.looseObject({ form: z.unknown().optional(), url: z.unknown().optional() }) })
  .transform(({ elicitation: { form, url } }) => form !== undefined || url === undefined);

/** Servers that have sent their client a request before. */
const warm = new WeakSet<McpServer>();

/**
 * Uses up the first id, which is 0: a client of the old SDK (1.x) takes that for none when it is told that a
 * request is cancelled, and would leave the first form open. A ping may be sent at any time.
 */
function useUpFirstId(server: McpServer, { send }: ServerContext['mcpReq']): void {
  if (warm.has(server)) return;
  warm.add(server);
  send({ method: 'ping' }, { timeout: pingMs }).catch(() => undefined);
}

function showsForms(capabilities: unknown): boolean {
  const parsed = formsSchema.safeParse(capabilities);
  return parsed.success && parsed.data;
}

/** null: this client cannot show a form. */
export function clientAskingOf(mcpServer: McpServer, { mcpReq }: ServerContext): ClientAsking | null {
  const { server } = mcpServer;
  const version = server.getNegotiatedProtocolVersion();
  // Revisions are dates, so they compare as texts.
  if (version !== undefined && version >= firstWithoutRequests) {
    const envelope: Record<string, unknown> = { ...mcpReq.envelope };
    return showsForms(envelope[CLIENT_CAPABILITIES_META_KEY]) ? { kind: 'in the result' } : null;
  }
  if (!showsForms(server.getClientCapabilities())) return null;
  return {
    kind: 'on the stream',
    async ask(params, signal) {
      useUpFirstId(mcpServer, mcpReq);
      // Sent by the call itself, it goes on the stream of the call.
      return await mcpReq.send({ method: 'elicitation/create', params }, { signal, timeout: longestMs });
    },
  };
}
