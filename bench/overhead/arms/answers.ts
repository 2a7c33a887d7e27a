/** Whether an arm answers a chat request: the one readiness check that all arms share. */
import { chatHeaders } from '../exchange.ts';
import { burstModel } from '../engine-models.ts';
import type { Target } from '../load-protocol.ts';
import { untilReady, type RunningProcess } from '../processes.ts';
import { bodyMaker } from '../request-bodies.ts';

const answerTimeoutMs = 5_000;
const bodyOf = bodyMaker({ model: burstModel, stream: false, maxTokens: 1 });

/** @returns milliseconds of one plain request; null when it was not answered with 200. */
export async function askOnce(target: Target): Promise<number | null> {
  const startedMs = performance.now();
  try {
    const response = await fetch(`${target.url}/v1/chat/completions`, {
      method: 'POST',
      headers: chatHeaders(target.headers),
      body: new Uint8Array(bodyOf('ready')),
      signal: AbortSignal.timeout(answerTimeoutMs),
    });
    await response.arrayBuffer();
    return response.ok ? performance.now() - startedMs : null;
  } catch {
    return null;
  }
}

/** @throws SetupFault when the process ends, or does not answer in time. */
export async function untilAnswering(running: RunningProcess, target: Target): Promise<void> {
  await untilReady(running, async () => await askOnce(target));
}
