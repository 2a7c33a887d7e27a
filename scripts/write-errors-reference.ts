/**
 * Writes the table of `docs/errors.md` from the table of error codes. The words around it are kept.
 * `test/errors-reference.test.ts` fails when the file is not what this would write.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errorCodes } from '../contracts/error-codes.ts';

export const referencePath = resolve(import.meta.dirname, '..', 'docs', 'errors.md');

/** The reference with the table that holds now. @throws Error when it has no place for it. */
export function withCurrentTable(reference: string): string {
  const place = /(<!-- table: errors -->\n)[^]*?(<!-- end -->)/;
  if (!place.test(reference)) throw new Error(`${referencePath} has no place for the table`);
  return reference.replace(place, (_all, begin: string, end: string) => begin + table() + end);
}

function table(): string {
  const rows = Object.entries(errorCodes).map(
    ([code, { status, type, meaning }]) => `| \`${code}\` | ${status} | \`${type}\` | ${meaning} |\n`,
  );
  return ['| code | status | type | meaning |\n', '|---|---|---|---|\n', ...rows].join('');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(referencePath, withCurrentTable(readFileSync(referencePath, 'utf8')));
}
