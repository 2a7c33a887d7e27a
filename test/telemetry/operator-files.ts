/** The queries of the dashboard and of the alert rules, as their files have them. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

const root = resolve(import.meta.dirname, '..', '..');

export function textOfFile(path: string): string {
  return readFileSync(resolve(root, path), 'utf8');
}

const datasourceSchema = z.object({ type: z.string(), uid: z.string() });
export const dashboardSchema = z.object({
  uid: z.string().min(1),
  title: z.string().min(1),
  schemaVersion: z.int().min(39),
  templating: z.object({ list: z.array(z.object({ name: z.string(), type: z.string() })) }),
  panels: z.array(
    z.object({
      id: z.int(),
      type: z.enum(['row', 'timeseries', 'stat']),
      title: z.string().min(1),
      datasource: datasourceSchema.optional(),
      gridPos: z.object({ h: z.int().min(1), w: z.int().min(1), x: z.int().min(0), y: z.int().min(0) }),
      fieldConfig: z.object({ defaults: z.object({ unit: z.string() }) }).optional(),
      targets: z
        .array(
          z.object({
            refId: z.string(),
            datasource: datasourceSchema,
            expr: z.string().min(1),
            legendFormat: z.string(),
          }),
        )
        .default([]),
    }),
  ),
});

export const alertsSchema = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string().min(1),
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^Fermata[A-Za-z]+$/),
          expr: z.string().min(1),
          for: z
            .string()
            .regex(/^\d+[smh]$/)
            .optional(),
          labels: z.strictObject({ severity: z.enum(['critical', 'warning', 'info']) }),
          annotations: z.strictObject({
            summary: z.string().min(1).max(120),
            description: z.string().min(20),
            runbook_url: z.string().min(1),
          }),
        }),
      ),
    }),
  ),
});

export function readDashboard(): z.output<typeof dashboardSchema> {
  return dashboardSchema.parse(JSON.parse(textOfFile('docker/grafana/dashboards/fermata.json')));
}

export function readAlerts(): z.output<typeof alertsSchema>['groups'][number]['rules'] {
  const { groups } = alertsSchema.parse(parse(textOfFile('docker/prometheus/alerts.yaml')));
  return groups.flatMap(({ rules }) => rules);
}

/** Labels that Prometheus itself adds. */
export const ownLabels: readonly string[] = ['job', 'instance'];

/** Where each query is, what it is, and the labels that its words use. */
export function allQueries(): { where: string; expr: string; shown: string[] }[] {
  const ofPanels = readDashboard().panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => ({
      where: `dashboard: ${title}`,
      expr,
      shown: [...legendFormat.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, label = '']) => label),
    })),
  );
  const ofAlerts = readAlerts().map(({ alert, expr, annotations }) => ({
    where: `alert: ${alert}`,
    expr,
    shown: Object.values(annotations).flatMap((text) =>
      [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label),
    ),
  }));
  return [...ofPanels, ...ofAlerts];
}
