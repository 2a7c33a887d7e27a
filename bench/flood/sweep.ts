/**
 * Every arm over every seed, interleaved: the first seed through all arms, then the next. So many windows side by
 * side as there are lanes; they begin together, when all their processes run, since a start takes a processor for
 * a second. A rival that cannot be had is left out and named; without fermata there is nothing to measure.
 */
import { SetupFault, type Progress } from '../../cli/setup/setup-fault.ts';
import type { Arm } from './arms.ts';
import { openWindow, type OpenWindow, type WindowFound, type WindowPlan, type WindowSite } from './window.ts';

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
  while (queue.length > 0) {
    const round = queue.splice(0, lanes).filter(({ arm }) => !(arm.name in notRun));
    const openings = await Promise.allSettled(
      round.map(async ({ arm, seed }) => await openOrName(arm, seed, plan, site, notRun)),
    );
    const opened = openings.flatMap((one) => (one.status === 'fulfilled' ? (one.value ?? []) : []));
    try {
      for (const one of openings) if (one.status === 'rejected') throw one.reason;
      for (const window of await Promise.all(opened.map(async (one) => await one.watch()))) {
        found.push(window);
        progressOf(site.progress, window);
      }
    } finally {
      await Promise.all(opened.map(async (one) => await one.close()));
    }
    site.progress(`${queue.length} windows to go`);
  }
  const placeOf = ({ arm, seed }: WindowFound): number =>
    arms.findIndex(({ name }) => name === arm) * seeds.length + seeds.indexOf(seed);
  return {
    windows: found.filter(({ arm }) => !(arm in notRun)).toSorted((a, b) => placeOf(a) - placeOf(b)),
    notRun,
  };
}

/** null: it cannot be had, and `notRun` says why. */
async function openOrName(
  arm: Arm,
  seed: number,
  plan: WindowPlan,
  site: WindowSite,
  notRun: Record<string, string>,
): Promise<OpenWindow | null> {
  try {
    return await openWindow(arm, seed, plan, site);
  } catch (error) {
    if (!(error instanceof SetupFault) || arm.kind === 'fermata') throw error;
    notRun[arm.name] = error.message;
    site.progress(`${arm.name} is not run: ${error.message}`);
    return null;
  }
}

function progressOf(progress: Progress, { arm, seed, metrics }: WindowFound): void {
  const { interactiveRunsPerMinute, batchRunsPerMinute } = metrics;
  const rates = [interactiveRunsPerMinute, batchRunsPerMinute].map((rate) => rate?.toFixed(1) ?? '-');
  progress(`${arm}, seed ${seed}: ${rates[0]} interactive and ${rates[1]} batch runs/min`);
}
