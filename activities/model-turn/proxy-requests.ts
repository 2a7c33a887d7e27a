/** What a worker asks of a proxy beside turns, and what it means when there is no answer. Sends nothing twice. */
import type { fetch as undiciFetch, RequestInit as UndiciRequestInit } from 'undici';
import { ModelTurnError } from './model-turn-error.ts';

export type AskProxy = (url: string, init: UndiciRequestInit) => ReturnType<typeof undiciFetch>;

export async function listModels(ask: AskProxy, proxyUrl: string, signal: AbortSignal): Promise<unknown> {
  const response = await ask(`${proxyUrl}/v1/models`, { signal }).catch((error: unknown) => {
    throw signal.aborted ? error : connectionFailure(error);
  });
  return await response.json();
}

export function healthOf(ask: AskProxy, proxyUrl: string): (signal: AbortSignal) => Promise<void> {
  return async (signal) => {
    const answer = await ask(`${proxyUrl}/healthz`, { signal });
    await answer.body?.cancel();
  };
}

export async function endRunAt(
  ask: AskProxy,
  proxyUrl: string,
  { runId, signal }: { readonly runId: string; readonly signal: AbortSignal },
): Promise<void> {
  const url = `${proxyUrl}/v1/runs/${encodeURIComponent(runId)}`;
  try {
    const response = await ask(url, { method: 'DELETE', signal });
    await response.body?.cancel();
    // A run that the proxy does not know needs no ending there; elsewhere the scheduler ends it.
    if (response.ok || response.status === 404) return;
    throw new ModelTurnError({
      kind: 'status',
      status: response.status,
      code: null,
      message: `the proxy answered ${response.status} to the end of the run`,
      headers: {},
      refusal: null,
    });
  } catch (error) {
    throw error instanceof ModelTurnError || signal.aborted ? error : connectionFailure(error);
  }
}

export function connectionFailure(error: unknown): ModelTurnError {
  return new ModelTurnError({
    kind: 'connection',
    message: `the proxy could not be reached: ${causeText(error)}`,
  });
}

/** The innermost message, which says what the outer ones only announce. */
export function causeText(error: unknown): string {
  let current: unknown = error;
  for (let depth = 0; depth < 4 && current instanceof Error && current.cause instanceof Error; depth += 1) {
    current = current.cause;
  }
  if (!(current instanceof Error)) return String(current);
  const code = (current as NodeJS.ErrnoException).code;
  return current.message === '' ? (code ?? current.name) : current.message;
}
