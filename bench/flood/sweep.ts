/**
 * Every arm over every seed, interleaved: the first seed through all arms, then the next. So many windows at a
 * time as there are lanes. A rival that cannot be had is left out and named; without fermata there is nothing
 * to measure.
 */
import { SetupFault, type Progress } from '../../cli/setup/setup-fault.ts';
import type { Arm } from './arms.ts';
import { runWindow, type WindowFound, type WindowPlan, type WindowSite } from './window.ts';

export interface SweepPlan extends WindowPlan {
  readonly arms: readonly Arm[];
  readonly seeds: readonly number[];
  readonly lanes: number;
}

export interface SweepFound {
  /** In the order of arms and seeds; only arms that were run on all seeds. */
  readonly windows: readonly WindowFound[];
  /** Why an arm is missing, by its name. */
  readonly notRun: Readonly<Record<string, string>>;
}

/** @throws SetupFault when fermata or the engines cannot be had. */
export async function sweep(plan: SweepPlan, site: WindowSite): Promise<SweepFound> {
  const { arms, seeds, lanes } = plan;
  const queue = seeds.flatMap((seed) => arms.map((arm) => ({ seed, arm })));
  const found: WindowFound[] = [];
  const notRun: Record<string, string> = {};
  let left = queue.length;
  const lane = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { seed, arm } = next;
      left -= 1;
      if (arm.name in notRun) continue;
      try {
        found.push(await runWindow(arm, seed, plan, site));
        progressOf(site.progress, found.at(-1), left);
      } catch (error) {
        if (!(error instanceof SetupFault) || arm.kind === 'fermata') {
          queue.length = 0;
          throw error;
        }
        notRun[arm.name] = error.message;
        site.progress(`${arm.name} is not run: ${error.message}`);
      }
    }
  };
  const done = await Promise.allSettled(Array.from({ length: lanes }, lane));
  for (const one of done) if (one.status === 'rejected') throw one.reason;
  const placeOf = ({ arm, seed }: WindowFound): number =>
    arms.findIndex(({ name }) => name === arm) * seeds.length + seeds.indexOf(seed);
  return {
    windows: found.filter(({ arm }) => !(arm in notRun)).toSorted((a, b) => placeOf(a) - placeOf(b)),
    notRun,
  };
}

function progressOf(progress: Progress, found: WindowFound | undefined, left: number): void {
  if (found === undefined) return;
  const { interactiveRunsPerMinute, batchRunsPerMinute } = found.metrics;
  const rates = [interactiveRunsPerMinute, batchRunsPerMinute].map((rate) => rate?.toFixed(1) ?? '-');
  progress(
    `${found.arm}, seed ${found.seed}: ${rates[0]} interactive and ${rates[1]} batch runs/min; ${left} windows to go`,
  );
}
