/** Which files a source file reaches, and which packages they name; read from the text, nothing is loaded. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '..', '..');

const importPattern =
  /^\s*(?:import|export)\s+(type\s)?(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm;

export interface Closure {
  /** Paths below the root. */
  readonly files: ReadonlySet<string>;
  /** Names of packages, those of types only left out. */
  readonly packages: ReadonlySet<string>;
}

/** @param entries below the root. Types are followed too: a compiler reads them. */
export function importClosure(entries: readonly string[]): Closure {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    if (!/\.[cm]?[jt]sx?$/.test(file)) return;
    const text = readFileSync(join(root, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '');
    for (const [, typeOnly, direct, dynamic] of text.matchAll(importPattern)) {
      const specifier = direct ?? dynamic ?? '';
      if (specifier.startsWith('.')) visit(relative(root, resolve(root, dirname(file), specifier)));
      else if (!specifier.startsWith('node:') && typeOnly === undefined) packages.add(packageOf(specifier));
    }
  };
  entries.forEach(visit);
  return { files, packages };
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
