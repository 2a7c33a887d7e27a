/** Tables of a Markdown file that code knows better than people, between two comments. Pure. */

/** One line a row; the first row is the head. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |\n`;
  return [line(head), `|${'---|'.repeat(head.length)}\n`, ...rows.map(line)].join('');
}

/**
 * The text with the tables that hold now, each between `<!-- table: NAME -->` and `<!-- end -->`; the words
 * around them are kept.
 * @throws Error when the text has no place for a table, or a place for one that there is not.
 */
export function withTables(text: string, tables: Readonly<Record<string, string>>): string {
  for (const [, name = ''] of text.matchAll(/<!-- table: (\S+) -->/g)) {
    if (!Object.hasOwn(tables, name)) throw new Error(`there is no table '${name}'`);
  }
  return Object.entries(tables).reduce((written, [name, table]) => {
    const place = new RegExp(`(<!-- table: ${name} -->\n)[^]*?(<!-- end -->)`);
    if (!place.test(written)) throw new Error(`no place for the table of '${name}'`);
    return written.replace(place, (_all, begin: string, end: string) => begin + table + end);
  }, text);
}
