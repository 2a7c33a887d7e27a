/** What axe finds on a page as it stands. It is run from outside, since the page lets no foreign script in. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { z } from 'zod';

const resultsSchema = z.object({
  passes: z.number(),
  violations: z.array(
    z.object({
      id: z.string(),
      impact: z.string().nullable(),
      help: z.string(),
      nodes: z.array(z.string()),
    }),
  ),
});

const run = `axe.run(document, {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  rules: { 'target-size': { enabled: true } },
}).then(({ passes, violations }) => JSON.stringify({
  passes: passes.length,
  violations: violations.map(({ id, impact, help, nodes }) => ({
    id, impact: impact ?? null, help, nodes: nodes.slice(0, 5).map(({ html, failureSummary }) => html + ' ' + failureSummary),
  })),
}))`;

/** Everything serious or critical, one line each; empty: nothing. @throws when axe has looked at nothing. */
export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const results = resultsSchema.parse(JSON.parse(String(await page.evaluate(run))));
  if (results.passes < 10) throw new Error(`axe passed ${results.passes} rules only: there is no page`);
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, impact, help, nodes }) => `${id} (${impact}): ${help}: ${nodes.join(' | ')}`);
}
