/** The harness whole, with windows too short to mean anything: what it measures must be there, not be fast. */
import { expect, it } from 'vitest';
import { runDecide } from '../../../bench/decide/run-decide.ts';
import { decideBars } from '../../../bench/decide/summary.ts';

it('asks an engine and fermata for the same classifications, by both ways, and gets the same labels', async () => {
  const cases = [
    { kind: 'one-shot', concurrent: 1 },
    { kind: 'labels', concurrent: 4 },
  ] as const;
  const result = await runDecide(
    { repeats: 1, slices: 1, sliceMs: 150, warmUpRequests: 4, comparedRequests: 6, cases },
    process.env,
    () => {},
  );
  expect(result.windows).toHaveLength(4);
  for (const { latencyMs, failed } of result.windows) {
    expect(latencyMs.length).toBeGreaterThan(0);
    expect(failed).toBe(0);
  }
  expect(result).toMatchObject({ compared: 12, different: 0 });
  expect(decideBars(result, cases).filter(({ value }) => value === null)).toEqual([]);
}, 120_000);
