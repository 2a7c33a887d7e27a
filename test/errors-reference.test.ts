import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { referencePath, withCurrentTable } from '../scripts/write-errors-reference.ts';

it('docs/errors.md lists every error code as it is', () => {
  const reference = readFileSync(referencePath, 'utf8');
  expect(reference).toBe(withCurrentTable(reference));
});
