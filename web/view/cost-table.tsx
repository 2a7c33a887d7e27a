/** What a run has done itself, and together with all below it. */
import type { RunCounters, RunDetail } from '../api/types.ts';
import { cachedShare, count, duration, plural } from '../model/words.ts';

const lines: readonly (readonly [string, (counters: RunCounters) => string])[] = [
  ['Turns', ({ turns }) => count(turns)],
  [
    'Tool calls',
    ({ toolCalls, failedToolCalls }) =>
      `${count(toolCalls)}${failedToolCalls === 0 ? '' : ` (${failedToolCalls} failed)`}`,
  ],
  ['Prompt tokens', ({ promptTokens }) => count(promptTokens)],
  ['of them cached', (counters) => cachedText(counters)],
  ['Completion tokens', ({ completionTokens }) => count(completionTokens)],
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
  const isTree = subtree.runs > 1;
  return (
    <section class="card" aria-labelledby="cost-title">
      <h3 id="cost-title">Cost</h3>
      <table class="cost">
        <thead>
          <tr>
            <td />
            <th scope="col">This run</th>
            {isTree && (
              <th scope="col">
                With all below ({plural(subtree.runs, 'run')}, {subtree.atWork} at work)
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {lines.map(([name, text]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="number">{text(run.counters)}</td>
              {isTree && <td class="number">{text(subtree.counters)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
