/** What a run has done itself, and together with all below it. */
import type { RunCounters, RunDetail } from '../api/types.ts';
import { cachedShare, count, duration, plural } from '../model/words.ts';

const columns: readonly (readonly [string, (counters: RunCounters) => string])[] = [
  ['Turns', ({ turns }) => count(turns)],
  ['Tool calls', ({ toolCalls }) => count(toolCalls)],
  ['Failed calls', ({ failedToolCalls }) => count(failedToolCalls)],
  ['Prompt tokens', ({ promptTokens }) => count(promptTokens)],
  ['Cached', (counters) => cachedText(counters)],
  ['Reply tokens', ({ completionTokens }) => count(completionTokens)],
  ['Model time', ({ modelMs }) => duration(modelMs)],
  ['Tool time', ({ toolMs }) => duration(toolMs)],
  ['Held', ({ heldMs }) => duration(heldMs)],
];

function cachedText(counters: RunCounters): string {
  const share = cachedShare(counters);
  return share === null ? '0' : `${count(counters.cachedTokens)} (${share} %)`;
}

export function CostTable({ run }: { readonly run: RunDetail }) {
  const { subtree } = run;
  return (
    <section class="card" aria-labelledby="cost-title">
      <h3 id="cost-title">Cost</h3>
      <div class="scroll" role="region" aria-label="Cost of the run" tabIndex={0}>
        <table class="cost">
          <thead>
            <tr>
              <th scope="col">Of</th>
              {columns.map(([name]) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Line name="this run" counters={run.counters} />
            {subtree.runs > 1 && (
              <Line
                name={`with all below: ${plural(subtree.runs, 'run')}, ${subtree.atWork} at work`}
                counters={subtree.counters}
              />
            )}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Line({ name, counters }: { readonly name: string; readonly counters: RunCounters }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      {columns.map(([column, text]) => (
        <td key={column} class="number">
          {text(counters)}
        </td>
      ))}
    </tr>
  );
}
