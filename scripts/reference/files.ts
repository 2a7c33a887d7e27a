/** The files of the documentation that are made from code, and how each is. Reads the words around the tables. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorCodes } from '../../contracts/error-codes.ts';
import {
  agentHeaders,
  headerMeanings,
  mcpHeaders,
  requestHeaders,
  responseHeaderMeanings,
  responseHeaders,
  sessionHeaders,
} from '../../contracts/headers.ts';
import { settingsTable } from '../../contracts/settings-table.ts';
import { configSchemaText } from './config-schema.ts';
import { configTables } from './config-tables.ts';
import { limitTables } from './limit-tables.ts';
import { markdownTable, withTables } from './markdown-tables.ts';
import { metricTables } from './metric-tables.ts';
import { toolTables } from './tool-tables.ts';

export interface ReferenceFile {
  /** Below the root of the repository. */
  readonly path: string;
  /** What it should be now. @throws Error when the file has no place for a table. */
  content(): string;
}

const root = resolve(import.meta.dirname, '..', '..');

export const referenceFiles: readonly ReferenceFile[] = [
  { path: 'docs/fermata.schema.json', content: configSchemaText },
  page('configuration', configTables),
  page('settings', () => ({ settings: settingsRows() })),
  page('errors', () => ({ errors: errorRows() })),
  page('metrics', metricTables),
  page('headers', headerTables),
  page('tools', toolTables),
  page('limits', limitTables),
];

export function absolutePath({ path }: ReferenceFile): string {
  return resolve(root, path);
}

function page(name: string, tables: () => Readonly<Record<string, string>>): ReferenceFile {
  const path = `docs/reference/${name}.md`;
  return { path, content: () => withTables(readFileSync(resolve(root, path), 'utf8'), tables()) };
}

function settingsRows(): string {
  const rows = Object.entries(settingsTable).map(([name, { default: given, meaning }]) => [
    `\`${name}\``,
    given === null ? '' : `\`${given}\``,
    meaning,
  ]);
  return markdownTable(['variable', 'default', 'meaning'], rows);
}

function errorRows(): string {
  const rows = Object.entries(errorCodes).map(([code, { status, type, meaning }]) => [
    `\`${code}\``,
    String(status),
    `\`${type}\``,
    meaning,
  ]);
  return markdownTable(['code', 'status', 'type', 'meaning'], rows);
}

function headerTables(): Readonly<Record<string, string>> {
  const list = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');
  const requests = Object.entries(requestHeaders).map(([key, [name, ...aliases]]) => [
    `\`${name}\``,
    list(aliases),
    headerMeanings[key as keyof typeof requestHeaders],
  ]);
  const responses = Object.entries(responseHeaders).map(([key, name]) => [
    `\`${name}\``,
    responseHeaderMeanings[key as keyof typeof responseHeaders],
  ]);
  return {
    requests: markdownTable(['header', 'also taken', 'meaning'], requests),
    responses: markdownTable(['header', 'meaning'], responses),
    recognised: markdownTable(
      ['what', 'headers'],
      [
        ['sessions of known agents', list(sessionHeaders)],
        ['their sub-agents', list(agentHeaders)],
        ['at `/mcp`: `off` shows no forms', list(Object.values(mcpHeaders))],
      ],
    ),
  };
}
