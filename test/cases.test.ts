/** Each public case that the proxy must show is a test of its file, under its exact title. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { caseFile } from './case-file.ts';

const ids =
  'S01 S04 S05 S06 S08 S10 S12 S13 S14 S17 S18 S20 S21 G01 G02 G03 G04 G07 G08 G10 A01 A03 A04 A06 A09 A10 A11 A12 A13 A15 A17 A19 A20 X11 M01 M03 M04 M06 M08 M09 M10 M12 D07 D09 D01 X01 X03 X05 D03 D05 D11 D14 D12'.split(
    ' ',
  );

/** Every test file, with its text. */
function testFiles(folder: string): { readonly path: string; readonly text: string }[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return testFiles(path);
    return entry.name.endsWith('.test.ts') && path !== import.meta.filename
      ? [{ path, text: readFileSync(path, 'utf8') }]
      : [];
  });
}

const files = testFiles(import.meta.dirname);

/** Variables that hold a case: `const g01 = caseFile('G01')`, or one of a list that is mapped to cases. */
function holdersOf(id: string, text: string): string[] {
  const single = [...text.matchAll(new RegExp(`const (\\w+) = caseFile\\('${id}'\\)`, 'g'))].map(
    (match) => match[1] ?? '',
  );
  const listed = new RegExp(
    `for \\(const (\\w+) of \\[[^\\]]*'${id}'[^\\]]*\\]\\.map\\(\\(id\\) => caseFile\\(id\\)\\)\\)`,
  ).exec(text)?.[1];
  return listed === undefined ? single : [...single, listed];
}

/** A `describe`, `it` or `test` whose name begins with the id and the exact title of the case. */
function isTestOf(holder: string, text: string): boolean {
  return new RegExp(
    `(?:describe|it|test)(?:\\.each\\([^\`]*\\))?\\(\\s*\`\\$\\{${holder}\\.(?:id\\} \\$\\{${holder}\\.title|name)\\}`,
  ).test(text);
}

describe('the public cases of streaming, admission and identity', () => {
  it.each(ids)('%s is a test that reads its file and bears its title', (id) => {
    expect(caseFile(id).title.length).toBeGreaterThan(20);
    const tests = files.filter(({ text }) => holdersOf(id, text).some((holder) => isTestOf(holder, text)));
    expect(tests.map(({ path }) => path)).not.toEqual([]);
  });

  it('would be missed if they were only mentioned', () => {
    const mention = "const s17 = caseFile('S17');\ndescribe('S17 something', () => {});\n";
    expect(holdersOf('S17', mention).some((holder) => isTestOf(holder, mention))).toBe(false);
    const cited = "const s17 = caseFile('S17');\ndescribe(`${s17.id} ${s17.title}`, () => {});\n";
    expect(holdersOf('S17', cited).some((holder) => isTestOf(holder, cited))).toBe(true);
  });
});
