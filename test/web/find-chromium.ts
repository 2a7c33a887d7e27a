/** A Chromium for the tests of the page: an installed one, or the one that the test tools were prepared with. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'chrome'];

/** Where `scripts/prepare-test-tools.ts` puts one, when none is installed. */
export const preparedChromium = resolve(
  import.meta.dirname,
  '..',
  '..',
  '.fermata',
  'tools',
  'chromium',
  'chromium',
);

/** @param environment `CHROME_PATH` names one that is to be used. @returns null: there is none. */
export function findChromium(environment: Readonly<Record<string, string | undefined>>): string | null {
  const folders = (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const candidates = [
    ...(environment['CHROME_PATH'] === undefined ? [] : [environment['CHROME_PATH']]),
    ...folders.flatMap((folder) => names.map((name) => join(folder, name))),
    preparedChromium,
  ];
  return candidates.find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
