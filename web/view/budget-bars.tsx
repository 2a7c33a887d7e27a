/** Budgets of a run as bars: what of each is used, by it and all below it. */
import type { RunBudget, RunDetail } from '../api/types.ts';
import { useNow } from '../model/clock.ts';
import { isAtWork } from '../model/run-order.ts';
import { count, duration, lasted } from '../model/words.ts';

const names = { tokens: 'Tokens', toolCalls: 'Tool calls', seconds: 'Time' } as const;
type Name = keyof typeof names;

export function BudgetBars({ run }: { readonly run: RunDetail }) {
  const { budget } = run;
  if (budget === null) return null;
  const limited = (Object.keys(names) as Name[]).filter((name) => budget.limits[name] !== undefined);
  return (
    <section class="card" aria-labelledby="budget-title">
      <h3 id="budget-title">Budget</h3>
      {limited.map((name) => (
        <Bar key={name} name={name} run={run} budget={budget} />
      ))}
      {budget.exceeded !== null && <p class="fault">Exceeded: {names[budget.exceeded]}</p>}
    </section>
  );
}

interface BarProps {
  readonly name: Name;
  readonly run: RunDetail;
  readonly budget: RunBudget;
}

function Bar({ name, run, budget }: BarProps) {
  const nowMs = useNow();
  const limit = budget.limits[name] ?? 0;
  // Its last change tells the seconds of then; a run at work goes on using them.
  const used =
    name === 'seconds' && isAtWork(run.status)
      ? Math.max(budget.used.seconds, lasted(run, nowMs) / 1_000)
      : budget.used[name];
  const show = (value: number): string => (name === 'seconds' ? duration(value * 1_000) : count(value));
  const text = `${show(used)} of ${show(limit)}`;
  const share = limit === 0 ? 1 : Math.min(1, used / limit);
  return (
    <div class="budget">
      <span id={`budget-${name}`}>{names[name]}</span>
      <div
        class={share >= 0.9 ? 'meter high' : 'meter'}
        role="meter"
        aria-labelledby={`budget-${name}`}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={Math.min(used, limit)}
        aria-valuetext={text}
      >
        <span style={{ inlineSize: `${share * 100}%` }} />
      </div>
      <span class="number">{text}</span>
    </div>
  );
}
