/** The changelog (Keep a Changelog): what has been unreleased becomes a release. Pure. */

const unreleased = '## [Unreleased]';

/**
 * @param date `YYYY-MM-DD`.
 * @returns the text with the entries of Unreleased under the version; unchanged when the version is there already.
 * @throws Error when there is no Unreleased section, or nothing in it.
 */
export function releaseChangelog(text: string, version: string, date: string): string {
  if (text.includes(`## [${version}]`)) return text;
  const start = text.indexOf(`${unreleased}\n`);
  if (start < 0) throw new Error(`CHANGELOG.md has no section ${unreleased}`);
  const bodyStart = start + unreleased.length + 1;
  const next = text.indexOf('\n## [', bodyStart);
  const body = text.slice(bodyStart, next < 0 ? text.length : next + 1);
  if (!/^\s*-\s/m.test(body)) throw new Error(`CHANGELOG.md: nothing is under ${unreleased}`);
  return `${text.slice(0, bodyStart)}\n## [${version}] - ${date}\n${text.slice(bodyStart)}`;
}
