/** The same fan-out three ways in turn, each time with work that no engine has seen. */
import { orderOf } from '../overhead/plan.ts';
import { planRun, type RunPlan } from '../sim/workload.ts';
import type { WorkOutcome } from '../sub-agents/outcome.ts';
import type { FermataSide, Side } from '../sub-agents/sides.ts';
import { awaitSubAgents, runSubAgent, spawnSubAgent } from '../sub-agents/sub-agent.ts';
import type { FanoutPlan } from './plan.ts';

export const ways = ['together', 'bare', 'sequential'] as const;
export type Way = (typeof ways)[number];

export interface FanoutRepeat {
  /** For all runs; `sequential` scaled up to as many. */
  readonly seconds: Readonly<Record<Way, number>>;
  /** Until every sub-agent had its handle. */
  readonly spawnedSeconds: number;
  /** Runs that did not end with their answer and all their calls, in words. */
  readonly faults: readonly string[];
  /** Seconds of each run alone. */
  readonly aloneSeconds: readonly number[];
}

const tool = 'wait';

export async function measureFanout(
  fermata: FermataSide,
  bare: Side,
  plan: FanoutPlan,
  seed: number,
  progress: (line: string) => void,
): Promise<readonly FanoutRepeat[]> {
  // First connections, compiled code and the list of tools belong to no way.
  for (const side of [fermata, bare]) {
    await Promise.all(plansOf(plan, seed, -1).slice(0, 2).map(side.carryOut));
  }
  const repeats: FanoutRepeat[] = [];
  for (let repeat = 0; repeat < plan.repeats; repeat += 1) {
    progress(`repeat ${repeat + 1} of ${plan.repeats}`);
    repeats.push(await measureRepeat(fermata, bare, plan, seed, repeat));
  }
  return repeats;
}

/** Another work in every repeat; the same for both sides. */
function plansOf({ load, width }: FanoutPlan, seed: number, repeat: number): readonly RunPlan[] {
  return Array.from({ length: width }, (_, agent) => planRun(seed, 0, agent, repeat + 1, load.shape));
}

const sequentialAgents = 1_000;

async function measureRepeat(
  fermata: FermataSide,
  bare: Side,
  plan: FanoutPlan,
  seed: number,
  repeat: number,
): Promise<FanoutRepeat> {
  const plans = plansOf(plan, seed, repeat);
  const alone = Array.from({ length: plan.sequentialRuns }, (_, index) =>
    planRun(seed, 0, sequentialAgents + index, repeat + 1, plan.load.shape),
  );
  const faults: string[] = [];
  const seconds: Record<Way, number> = { together: Number.NaN, bare: Number.NaN, sequential: Number.NaN };
  const aloneSeconds: number[] = [];
  let spawnedSeconds = Number.NaN;
  for (const way of orderOf(ways, repeat)) {
    const startedMs = performance.now();
    const since = (): number => (performance.now() - startedMs) / 1_000;
    switch (way) {
      case 'together': {
        const found = await fanOut(fermata, plans, () => {
          spawnedSeconds = since();
        });
        faults.push(...faultsOf(found, plans, fermata));
        break;
      }
      case 'bare':
        faults.push(...faultsOf(await Promise.all(plans.map(bare.carryOut)), plans, bare));
        break;
      case 'sequential':
        for (const one of alone) {
          const beforeSeconds = since();
          const outcome = await runSubAgent(fermata.clients.interactive, fermata.workOf(one), tool);
          aloneSeconds.push(since() - beforeSeconds);
          faults.push(...faultsOf([outcome], [one], fermata));
        }
        break;
      default:
        way satisfies never;
    }
    seconds[way] = way === 'sequential' ? (since() * plan.width) / plan.sequentialRuns : since();
  }
  return { seconds, spawnedSeconds, faults, aloneSeconds };
}

/** All spawned at once, then one await over all of them. */
async function fanOut(
  { clients, workOf }: FermataSide,
  plans: readonly RunPlan[],
  spawned: () => void,
): Promise<readonly (WorkOutcome | undefined)[]> {
  const client = clients.interactive;
  const handles = await Promise.all(
    plans.map(async (plan) => await spawnSubAgent(client, workOf(plan), tool)),
  );
  spawned();
  const outcomes = await awaitSubAgents(client, handles);
  return handles.map((handle) => outcomes.get(handle));
}

function faultsOf(
  outcomes: readonly (WorkOutcome | undefined)[],
  plans: readonly RunPlan[],
  { name, workOf }: Side,
): readonly string[] {
  return plans.flatMap((plan, index) => {
    const { calls, answer } = workOf(plan);
    const outcome = outcomes[index];
    if (outcome === undefined) return [`${name}: run ${plan.id} did not end`];
    if (outcome.fault !== null) return [`${name}: ${outcome.fault}`];
    if (outcome.toolCalls !== calls) return [`${name}: ${outcome.toolCalls} of ${calls} tool calls`];
    return outcome.answer === answer ? [] : [`${name}: another answer than its task wants`];
  });
}
