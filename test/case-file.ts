/** The public cases of `test/fixtures/cases`, parsed: what was reported, an input, and what is expected. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const caseFileSchema = z.looseObject({
  id: z.string().regex(/^[A-Z]\d\d$/),
  title: z.string().min(1),
  format: z.string(),
  given: z.record(z.string(), z.unknown()),
  expect: z.record(z.string(), z.unknown()),
});

export interface CaseFile {
  readonly id: string;
  readonly title: string;
  /** Id and title, for the name of a test. */
  readonly name: string;
  readonly given: Readonly<Record<string, unknown>>;
  readonly expect: Readonly<Record<string, unknown>>;
}

/**
 * @param id such as `S17`.
 * @throws when there is no such file or it is no case.
 */
export function caseFile(id: string): CaseFile {
  const path = join(import.meta.dirname, 'fixtures', 'cases', `${id}.json`);
  const { title, given, expect } = caseFileSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  return { id, title, name: `${id} ${title}`, given, expect };
}

/**
 * What a case expects of one of its variants: `expect.each` overlaid by `expect.variants[variant]`.
 * @throws when the case names no such variant.
 */
export function expectOf(from: CaseFile, variant: string): Readonly<Record<string, unknown>> {
  const { each, variants } = z
    .object({
      each: z.record(z.string(), z.unknown()).default({}),
      variants: z.record(z.string(), z.record(z.string(), z.unknown())),
    })
    .parse(from.expect);
  const own = variants[variant];
  if (own === undefined) throw new Error(`${from.id} expects nothing of a variant '${variant}'`);
  return { ...each, ...own };
}
