/** Every link of every Markdown file leads somewhere: to a file of the repository, and to a heading of it. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { anchorsIn } from './anchors.ts';

const root = resolve(import.meta.dirname, '..', '..');

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)));

/** Without what is code: fenced blocks and spans. */
function proseOf(text: string): string {
  return text.replaceAll(/^(```|~~~)[^]*?^\1/gm, '').replaceAll(/`[^`\n]*`/g, '');
}

function linksOf(text: string): string[] {
  const prose = proseOf(text);
  return [
    ...[...prose.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)].map(([, link = '']) => link),
    ...[...prose.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm)].map(([, link = '']) => link),
  ];
}

function faultsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return linksOf(text).flatMap((link) => {
    if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return [];
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? join(root, file) : resolve(root, dirname(file), decodeURIComponent(path));
    if (relative(root, target).startsWith('..')) return [`${link}: is outside the repository`];
    if (!existsSync(target)) return [`${link}: there is no such file`];
    if (anchor === undefined || statSync(target).isDirectory() || !target.endsWith('.md')) return [];
    return anchorsIn(readFileSync(target, 'utf8')).has(anchor) ? [] : [`${link}: has no such heading`];
  });
}

describe('the links of', () => {
  it.each(files)('%s lead somewhere', (file) => {
    expect(faultsOf(file)).toEqual([]);
  });
});

describe('headings', () => {
  it('are known by the names that GitHub gives them', () => {
    expect([
      ...anchorsIn('# Two *words*, `code`\n## A\n## A\n```sh\n# none\n```\n## See [x](y.md) & z\n'),
    ]).toEqual(['two-words-code', 'a', 'a-1', 'see-x--z']);
  });
});
