/** Carries out a plan of kills: kill -9, start again at the same place, on to the next. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Progress } from '../../cli/setup/setup-fault.ts';
import type { PlannedKill } from './kill-plan.ts';
import type { Part } from './parts.ts';
import type { Kill } from './recorder.ts';

export interface KillerDeps {
  readonly parts: readonly Part[];
  readonly kills: Kill[];
  /** Whether every run that was open at a kill has gone on. */
  readonly allWentOn: (kill: Kill) => boolean;
  readonly progress: Progress;
}

const pollMs = 50;
/** So long the next kill waits for runs to go on after one that stands alone. */
const aloneLimitMs = 25_000;
const startTries = 5;

/** @returns how many starts failed. @throws Error when a part does not come up again. */
export async function killAll(plan: readonly PlannedKill[], deps: KillerDeps): Promise<number> {
  const restarts: Promise<void>[] = [];
  let failedStarts = 0;
  const broken: Error[] = [];
  const restart = async (part: Part, kill: Kill): Promise<void> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await part.start();
        kill.backMs = Date.now();
        return;
      } catch (error) {
        failedStarts += 1;
        if (attempt >= startTries) throw error;
      }
    }
  };
  const left = [...plan];
  while (left.length > 0) {
    await delay(left[0]?.gapMs ?? 0);
    const isUp = ({ part }: PlannedKill): boolean => deps.parts.some(({ name, up }) => name === part && up());
    // A part that is down cannot die: the next one that can takes its turn, and it dies later.
    await until(() => left.some(isUp) || broken.length > 0);
    const [planned] = left.splice(left.findIndex(isUp), 1);
    if (planned?.alone === true) {
      await until(() => deps.parts.every((one) => one.up()) || broken.length > 0);
    }
    if (broken[0] !== undefined) throw broken[0];
    const part = deps.parts.find(({ name }) => name === planned?.part);
    if (part === undefined || planned === undefined) throw new Error('no part to be killed');
    const kill: Kill = { part: part.name, alone: planned.alone, atMs: Date.now(), backMs: null };
    deps.kills.push(kill);
    await part.kill();
    restarts.push(
      restart(part, kill).catch((error: unknown) => {
        broken.push(error instanceof Error ? error : new Error(String(error)));
      }),
    );
    if (planned.alone) await until(() => deps.allWentOn(kill), aloneLimitMs);
    const done = plan.length - left.length;
    if (done % 20 === 0) deps.progress(`${done} of ${plan.length} kills ...`);
  }
  await Promise.all(restarts);
  if (broken[0] !== undefined) throw broken[0];
  return failedStarts;
}

async function until(condition: () => boolean, limitMs = 120_000): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  while (!condition() && performance.now() < deadlineMs) await delay(pollMs);
}
