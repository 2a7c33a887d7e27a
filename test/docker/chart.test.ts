/**
 * The Helm chart as text: its values and examples against its schema and against what the services take. What Helm
 * makes of it is looked at by `npm run test:chart`, which builds Helm and takes minutes.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { isServiceName } from '../../cli/service-names.ts';
import { configFileSchema } from '../../contracts/config-file.ts';
import { settingsTable } from '../../contracts/settings-table.ts';
import { root } from './import-closure.ts';

type Values = Readonly<Record<string, unknown>>;

const chart = join(root, 'docker', 'helm', 'fermata');
const examplesFolder = join(root, 'docker', 'helm', 'examples');
const read = (path: string): string => readFileSync(path, 'utf8');
const defaults = parse(read(join(chart, 'values.yaml'))) as Values;
const examples = readdirSync(examplesFolder).map(
  (name) => [name, parse(read(join(examplesFolder, name))) as Values] as const,
);
const templates = readdirSync(join(chart, 'templates')).map(
  (name) => [name, read(join(chart, 'templates', name))] as const,
);
const allTemplates = templates.map(([, text]) => text).join('\n');
const validate = new Ajv({ strict: false, allErrors: true }).compile(
  JSON.parse(read(join(chart, 'values.schema.json'))) as object,
);

function isMap(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function merged(base: Values, over: Values): Values {
  const values: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const under = base[key];
    values[key] = isMap(under) && isMap(value) ? merged(under, value) : value;
  }
  return values;
}

describe('the values of the chart', () => {
  it('are what their schema says', () => {
    expect([validate(defaults), validate.errors]).toEqual([true, null]);
  });

  it.each(examples)(
    'of %s are what their schema says, with a pool that the services take',
    (_name, values) => {
      const all = merged(defaults, values);
      expect([validate(all), validate.errors]).toEqual([true, null]);
      expect(configFileSchema.safeParse(all['config']).error).toBeUndefined();
      // What is set is there: a mistyped name would be refused by the schema.
      expect(all['auth']).toMatchObject({ existingSecret: expect.stringMatching(/^fermata-/) });
    },
  );

  it.each<[string, Values]>([
    ['a mistyped name', { proxy: { replica: 3 } }],
    ['an address with a scheme', { temporal: { address: 'https://temporal:7233' } }],
    ['an empty pool', { config: { pool: [] } }],
    ['an unknown way to scale', { worker: { autoscaling: { kind: 'vpa' } } }],
    ['a drain longer than the service takes', { proxy: { drainSeconds: 4_000 } }],
    ['a token that is too short', { auth: { token: 'short' } }],
    ['held turns of a worker', { worker: { autoscaling: { heldTurns: 3 } } }],
  ])('with %s are refused', (_what, values) => {
    expect(validate(merged(defaults, values))).toBe(false);
  });

  it('are all used, and nothing else is', () => {
    const used = [...allTemplates.matchAll(/\.Values\.([A-Za-z.]+)/g)]
      .map(([, path = '']) => path)
      // What is in there is the user's.
      .filter((path) => !path.startsWith('config.'));
    const unknown = used.filter(
      (path) =>
        path.split('.').reduce<unknown>((value, key) => (isMap(value) ? value[key] : undefined), defaults) ===
        undefined,
    );
    expect(unknown).toEqual([]);
    const idle = Object.keys(defaults).filter(
      (key) => !new RegExp(`(\\.Values|\\$values|\\$\\.Values)\\.${key}\\b|"${key}"`).test(allTemplates),
    );
    expect(idle).toEqual([]);
  });
});

describe('the templates of the chart', () => {
  it('set only what is a setting', () => {
    const names = new Set(allTemplates.match(/\bFERMATA_[A-Z_]+\b/g));
    names.delete('FERMATA_PROXY_PORT');
    expect(names.size).toBeGreaterThan(8);
    expect([...names].filter((name) => !(name in settingsTable))).toEqual([]);
  });

  it('start services that the image has', () => {
    const args = [...allTemplates.matchAll(/args: \[([\w-]+)/g)].map(([, name]) => name);
    expect(args.filter((name) => !isServiceName(name))).toEqual([]);
    expect(args).toHaveLength(4);
  });

  it('know the ports of the services', () => {
    const ports = [...allTemplates.matchAll(/containerPort: (\d+)/g)].map(([, port]) => port);
    const known = (['SCHEDULER', 'MCP', 'PROXY', 'WORKER'] as const).map(
      (service) => settingsTable[`FERMATA_${service}_PORT`].default,
    );
    expect(new Set(ports)).toEqual(new Set(known));
    expect(ports).toHaveLength(known.length);
  });

  it('mount the configuration as a folder, which alone is renewed', () => {
    expect(allTemplates).not.toContain('subPath');
    expect(allTemplates).toContain('mountPath: /etc/fermata\n');
    expect(read(join(root, 'docker', 'Dockerfile'))).toContain('WORKDIR /etc/fermata');
  });

  it('keep the names of Services out of the environment', () => {
    const pods = templates.filter(([, text]) => text.includes('include "fermata.container"'));
    expect(pods.map(([name]) => name).toSorted()).toEqual([
      'mcp-server.yaml',
      'proxy.yaml',
      'scheduler.yaml',
      'temporal-setup.yaml',
      'worker.yaml',
    ]);
    for (const [name, text] of pods)
      expect([name, text.includes('include "fermata.pod"')]).toEqual([name, true]);
    expect(read(join(chart, 'templates', '_helpers.tpl'))).toContain('enableServiceLinks: false');
  });
});

it('the alert rules of the chart are those of Prometheus in compose', () => {
  const rules = read(join(root, 'docker', 'prometheus', 'alerts.yaml'));
  expect(read(join(chart, 'files', 'alerts.yaml'))).toBe(rules);
  // As they stand they become the body of a PrometheusRule.
  expect(Object.keys(parse(rules) as Values)).toEqual(['groups']);
});

it('the chart, the image and the package are of one version', () => {
  const { version } = JSON.parse(read(join(root, 'package.json'))) as { version: string };
  const { version: chartVersion, appVersion } = parse(read(join(chart, 'Chart.yaml'))) as Record<
    string,
    string
  >;
  expect([chartVersion, appVersion]).toEqual([version, version]);
});
