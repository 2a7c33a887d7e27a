/** Dashboard and alert rules against the metrics that the services register. */
import type { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { registries } from '../../scripts/reference/metric-tables.ts';
import { processRegistry } from '../../telemetry/process-metrics.ts';
import { anchorsIn } from '../docs/anchors.ts';
import { allQueries, ownLabels, readAlerts, readDashboard, textOfFile } from './operator-files.ts';
import { readQuery } from './promql.ts';

interface Described {
  readonly name: string;
  readonly type: string;
  readonly labelNames?: readonly string[];
}

/** Of each series that a scrape can have: its labels. A histogram has three. */
function knownSeries(): Map<string, readonly string[]> {
  const series = new Map<string, readonly string[]>();
  const all: Registry[] = [...Object.values(registries()), processRegistry()];
  for (const registry of all) {
    for (const { name, type, labelNames = [] } of registry.getMetricsAsArray() as unknown as Described[]) {
      if (type === 'histogram') {
        series.set(`${name}_bucket`, [...labelNames, 'le']);
        series.set(`${name}_sum`, labelNames);
        series.set(`${name}_count`, labelNames);
      } else series.set(name, labelNames);
    }
  }
  return series;
}

const known = knownSeries();

describe('every query of dashboard and alerts', () => {
  it.each(allQueries())('$where: $expr', ({ expr, shown }) => {
    const { selectors, grouping, resultLabels } = readQuery(expr);
    expect(selectors.length).toBeGreaterThan(0);
    const unknown = selectors.filter(({ metric }) => !known.has(metric)).map(({ metric }) => metric);
    expect(unknown).toEqual([]);
    for (const { metric, matchers } of selectors) {
      const labels = [...(known.get(metric) ?? []), ...ownLabels];
      expect(labels).toEqual(expect.arrayContaining(matchers.map(({ label }) => label)));
    }
    const labels = [...selectors.flatMap(({ metric }) => known.get(metric) ?? []), ...ownLabels];
    expect(labels).toEqual(expect.arrayContaining([...grouping]));
    // What its legend or its words show must be there after all that was summed up.
    expect(resultLabels ?? labels).toEqual(expect.arrayContaining([...shown]));
  });

  it('can fail: a query that is none, a metric and a label that are not there', () => {
    expect(() => readQuery('sum by (x (y)')).toThrow('no PromQL');
    expect(readQuery('rate(a_total{b="c"}[$__rate_interval])').selectors).toEqual([
      { metric: 'a_total', matchers: [{ label: 'b', values: ['c'] }] },
    ]);
    expect(known.has('fermata_proxy_no_such_metric')).toBe(false);
    expect(known.get('fermata_proxy_held')).toEqual([]);
  });
});

describe('the alert rules', () => {
  const alerts = readAlerts();

  it('have a name of their own each, and a runbook that says what to do', () => {
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
    for (const { alert, annotations } of alerts) {
      const [file = '', anchor = ''] = annotations.runbook_url.split('#');
      expect([alert, file]).toEqual([alert, 'docs/alerts.md']);
      expect(anchorsIn(textOfFile(file))).toContain(anchor);
      expect(anchor).toBe(alert.toLowerCase());
    }
  });

  it('are all that the runbook tells of', () => {
    const told = [...textOfFile('docs/alerts.md').matchAll(/^### (Fermata\w+)$/gm)].map(
      ([, name = '']) => name,
    );
    expect(told.toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
  });
});

describe('the dashboard', () => {
  it('has panels with ids and places of their own, and asks the data source that is chosen', () => {
    const { panels, templating } = readDashboard();
    expect(templating.list).toContainEqual(
      expect.objectContaining({ name: 'datasource', type: 'datasource' }),
    );
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { type, gridPos, targets, datasource } of panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(taken.has(`${x},${y}`)).toBe(false);
          taken.add(`${x},${y}`);
        }
      }
      expect(targets.length > 0).toBe(type !== 'row');
      const sources = [datasource, ...targets.map((target) => target.datasource)].filter(
        (one) => one !== undefined,
      );
      for (const source of sources) expect(source).toEqual({ type: 'prometheus', uid: '${datasource}' });
    }
  });

  it('is provisioned from the folder that it is in, with a data source for metrics and one for traces', () => {
    const providers = parse(textOfFile('docker/grafana/provisioning/dashboards/fermata.yaml')) as {
      providers: { options: { path: string } }[];
    };
    expect(providers.providers.map(({ options }) => options.path)).toEqual(['/var/lib/grafana/dashboards']);
    const sources = parse(textOfFile('docker/grafana/provisioning/datasources/fermata.yaml')) as {
      datasources: { type: string }[];
    };
    expect(sources.datasources.map(({ type }) => type)).toEqual(['prometheus', 'jaeger']);
  });
});

it('Prometheus scrapes every service and reads the alert rules', () => {
  const config = parse(textOfFile('docker/prometheus/prometheus.yaml')) as {
    rule_files: string[];
    scrape_configs: { job_name: string; dns_sd_configs: { port: number }[] }[];
  };
  expect(config.rule_files).toEqual(['alerts.yaml']);
  expect(config.scrape_configs.map(({ job_name: job, dns_sd_configs: [dns] }) => [job, dns?.port])).toEqual([
    ['scheduler', 5_001],
    ['proxy', 8_080],
    ['worker', 9_464],
    ['mcp-server', 7_000],
  ]);
});
