import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { referencePath, withCurrentTables } from '../scripts/write-metrics-reference.ts';

it('docs/metrics.md lists every metric that the services register, as it is (else: npx tsx scripts/write-metrics-reference.ts)', () => {
  const reference = readFileSync(referencePath, 'utf8');
  expect(reference).toBe(withCurrentTables(reference));
});

it('a reference without a place for a service is refused', () => {
  expect(() => withCurrentTables('# Metrics\n')).toThrow("no place for the table of 'proxy'");
});
