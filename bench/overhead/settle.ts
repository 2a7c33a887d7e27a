/** Waits until an arm has nothing left to do from its last window, so that it takes nothing from the next. */
import { z } from 'zod';
import { askOnce } from './arms/answers.ts';
import type { RunningArm } from './arms/arm.ts';

const limitMs = 10_000;
const pollMs = 50;
/** An idle gateway answers one plain request well within this. */
const promptMs = 250;
const promptAnswers = 3;

const stateSchema = z.object({ inHand: z.number(), served: z.number() });

export async function requestsInHand(engineUrl: string): Promise<number> {
  const response = await fetch(`${engineUrl}/state`, { signal: AbortSignal.timeout(5_000) });
  return stateSchema.parse(await response.json()).inHand;
}

/** @returns whether it came to rest within 10 s. */
export async function settle(arm: RunningArm, engineUrl: string): Promise<boolean> {
  const deadlineMs = performance.now() + limitMs;
  let prompt = 0;
  while (performance.now() < deadlineMs) {
    const tookMs = await askOnce(arm.target);
    prompt = tookMs !== null && tookMs <= promptMs ? prompt + 1 : 0;
    if (prompt >= promptAnswers && (await requestsInHand(engineUrl)) === 0) return true;
    await new Promise((resolve) => {
      setTimeout(resolve, pollMs);
    });
  }
  return false;
}
