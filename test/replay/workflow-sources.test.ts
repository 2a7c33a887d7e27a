/** What replay depends on and no replayed history can show: nothing in the workflows is drawn at random. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const folder = resolve(import.meta.dirname, '..', '..', 'workflows');

/** The SDK makes randomness repeatable, but what is drawn shifts with every draw that is added before it. */
const sources: readonly (readonly [string, RegExp])[] = [
  ['random numbers', /\bMath\s*\.\s*random\b|\bgetRandomValues\b|\brandomBytes\b/],
  ['random ids', /\buuid4\b|\brandomUUID\b|\bnanoid\b/],
  ['what the collector of garbage does', /\bWeakRef\b|\bFinalizationRegistry\b/],
  ['the environment', /\bprocess\s*\.\s*env\b/],
  ['the order of a locale', /\.localeCompare\(|\btoLocale[A-Z]\w*\(|\bIntl\./],
];

const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
);
const codeOf = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');

describe('the workflows', () => {
  it.each(sources)('depend on nothing such as %s', (_what, source) => {
    expect(files.length).toBeGreaterThan(10);
    expect(files.filter((file) => source.test(codeOf(readFileSync(join(folder, file), 'utf8'))))).toEqual([]);
  });

  it('would be found out', () => {
    const found = [
      'const id = `run_${uuid4()}`;',
      'crypto.randomUUID()',
      'Math.random()',
      'names.sort((a, b) => a.localeCompare(b))',
      'new WeakRef(run)',
      'process.env',
    ].filter((line) => sources.some(([, source]) => source.test(codeOf(line))));
    expect(found).toHaveLength(6);
  });
});
