import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { configFileSchema } from '../../contracts/config-file.ts';
import { parseSettings } from '../../contracts/settings.ts';
import { settingsTable } from '../../contracts/settings-table.ts';
import { configJsonSchema } from '../../scripts/reference/config-schema.ts';
import { absolutePath, referenceFiles } from '../../scripts/reference/files.ts';
import { markdownTable, withTables } from '../../scripts/reference/markdown-tables.ts';

describe('what the documentation says of code', () => {
  it.each(referenceFiles.map((file) => [file.path, file] as const))(
    '%s is as the code says (else: npm run docs)',
    (_path, file) => {
      expect(readFileSync(absolutePath(file), 'utf8')).toBe(file.content());
    },
  );

  it('has a description for every field of the configuration file', () => {
    const undescribed = readFileSync(
      absolutePath({ path: 'docs/reference/configuration.md', content: () => '' }),
      'utf8',
    )
      .split('\n')
      .filter((line) => /^\| `.*\|\s*\|$/.test(line));
    expect(undescribed).toEqual([]);
  });
});

describe('tables in a Markdown file', () => {
  it('are written between their comments only', () => {
    const text = 'Before.\n<!-- table: a -->\nold\n<!-- end -->\nAfter.\n';
    expect(withTables(text, { a: markdownTable(['x'], [['1|2']]) })).toBe(
      'Before.\n<!-- table: a -->\n| x |\n|---|\n| 1\\|2 |\n<!-- end -->\nAfter.\n',
    );
  });

  it('are refused without a place, and places without a table', () => {
    expect(() => withTables('# Nothing\n', { a: '' })).toThrow("no place for the table of 'a'");
    expect(() => withTables('<!-- table: b -->\n<!-- end -->\n', {})).toThrow("there is no table 'b'");
  });
});

describe('settings', () => {
  it.each(Object.entries(settingsTable).filter(([, { default: given }]) => given !== null))(
    '%s is by default what its row says',
    (name, { default: given }) => {
      expect(parseSettings({ [name]: given ?? '' })).toEqual(parseSettings({}));
    },
  );

  it('that have a default of their own are the only ones with one in their row', () => {
    const { ports, ...rest } = parseSettings({});
    const set = [...Object.values(ports), ...Object.values(rest)].filter(
      (value) => value !== null && !(Array.isArray(value) && value.length === 0),
    );
    const rows = Object.values(settingsTable).filter(({ default: given }) => given !== null);
    expect(rows).toHaveLength(set.length);
  });
});

describe('the JSON Schema of the configuration file', () => {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const validate = ajv.compile(configJsonSchema());
  const replica = { id: 'a', url: 'http://127.0.0.1:1' };

  it.each<[string, unknown]>([
    ['the least there can be', { pool: [replica] }],
    [
      'everything',
      {
        pool: [
          {
            ...replica,
            engine: 'vllm',
            kind: 'generative',
            models: ['m'],
            apis: ['chat'],
            apiKeyEnv: 'KEY',
            loadFrom: ['http://127.0.0.1:2'],
            maxConcurrent: 3,
            images: true,
            limit: 'latency',
          },
        ],
        policy: { admission: 'engine-load', pauseReservationMs: { batch: 0 } },
        tools: {
          mcpServers: {
            a: { command: 'x', env: { A: 'b' } },
            b: { type: 'http', url: 'http://127.0.0.1:3' },
          },
        },
        callers: { '*': { requestsPerMinute: 1 }, farm: { weight: 0.5, maxRunning: 2 } },
      },
    ],
    ['an empty pool', { pool: [] }],
    ['an unknown field', { pool: [{ ...replica, engin: 'vllm' }] }],
    ['an unknown engine', { pool: [{ ...replica, engine: 'vlm' }] }],
    ['a share over one', { pool: [replica], policy: { batchShare: 2 } }],
    ['a weight of nothing', { pool: [replica], callers: { a: { weight: 0 } } }],
    ['a tool server without program and address', { pool: [replica], tools: { mcpServers: { a: {} } } }],
    [
      'a tool server with both',
      { pool: [replica], tools: { mcpServers: { a: { command: 'x', url: replica.url } } } },
    ],
    ['no pool', {}],
  ])('judges %s as the services do', (_what, value) => {
    expect([validate(value), validate.errors ?? []]).toEqual([
      configFileSchema.safeParse(value).success,
      validate.errors ?? [],
    ]);
  });

  it('takes the example of its page', () => {
    const page = readFileSync(
      absolutePath({ path: 'docs/reference/configuration.md', content: () => '' }),
      'utf8',
    );
    const example = /^```yaml\n(.*?)^```$/ms.exec(page)?.[1] ?? '';
    const value: unknown = parse(example);
    expect([validate(value), configFileSchema.safeParse(value).success]).toEqual([true, true]);
  });
});
