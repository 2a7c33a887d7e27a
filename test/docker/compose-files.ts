/** The compose files as Compose would put them together: merged, with variables filled in. Only as far as ours go. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { root } from './import-closure.ts';

export const composeFolder = join(root, 'docker');
export const overlays = ['ollama', 'testbed', 'hosted', 'otel'] as const;
export type Overlay = (typeof overlays)[number];

const healthcheckSchema = z.looseObject({ test: z.array(z.string()) });
const serviceSchema = z.looseObject({
  image: z.string(),
  restart: z.string(),
  command: z.array(z.string()).default([]),
  entrypoint: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.string()).default([]),
  ports: z.array(z.string()).default([]),
  configs: z.array(z.object({ source: z.string(), target: z.string() })).default([]),
  networks: z.array(z.string()).default(['default']),
  profiles: z.array(z.string()).default([]),
  depends_on: z
    .union([
      z.record(z.string(), z.object({ condition: z.string() })),
      z
        .array(z.string())
        .transform((names) =>
          Object.fromEntries(names.map((name) => [name, { condition: 'service_started' }])),
        ),
    ])
    .default({}),
  healthcheck: healthcheckSchema.optional(),
  stop_grace_period: z.string().optional(),
  mem_limit: z.string().optional(),
  read_only: z.boolean().default(false),
  user: z.string().optional(),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
});
export type Service = z.infer<typeof serviceSchema>;

const projectSchema = z.looseObject({
  services: z.record(z.string(), serviceSchema),
  volumes: z.record(z.string(), z.unknown()).default({}),
  networks: z.record(z.string(), z.unknown()).default({}),
  configs: z.record(z.string(), z.object({ content: z.string() })).default({}),
});
export type Project = z.infer<typeof projectSchema>;

export function fileOf(overlay: Overlay | null): string {
  return join(composeFolder, overlay === null ? 'compose.yaml' : `compose.${overlay}.yaml`);
}

export function textOf(overlay: Overlay | null): string {
  return readFileSync(fileOf(overlay), 'utf8');
}

/** As it stands, with YAML's merge keys resolved. */
export function documentOf(overlay: Overlay | null): Readonly<Record<string, unknown>> {
  return parse(textOf(overlay), { merge: true }) as Record<string, unknown>;
}

/** @throws Error with the words of the file when a variable that it asks for is missing. */
export function projectOf(
  chosen: readonly Overlay[],
  variables: Readonly<Record<string, string | undefined>>,
): Project {
  const documents = [documentOf(null), ...chosen.map(documentOf)];
  const merged = documents.reduce((base, over) => mergeMaps(base, over, ''));
  return projectSchema.parse(fillIn(merged, variables));
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Maps are put into each other; lists are joined, but commands replaced, and mounts by where they are mounted. */
function mergeMaps(
  base: Readonly<Record<string, unknown>>,
  over: Readonly<Record<string, unknown>>,
  path: string,
): Readonly<Record<string, unknown>> {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const under = base[key];
    if (isMap(under) && isMap(value)) merged[key] = mergeMaps(under, value, `${path}.${key}`);
    else if (Array.isArray(under) && Array.isArray(value)) merged[key] = mergeLists(key, under, value);
    else merged[key] = value;
  }
  return merged;
}

function mergeLists(key: string, base: readonly unknown[], over: readonly unknown[]): readonly unknown[] {
  if (key === 'command' || key === 'entrypoint' || key === 'test') return over;
  if (key !== 'volumes') return [...base, ...over];
  const targets = new Set(over.map(targetOf));
  return [...base.filter((mount) => !targets.has(targetOf(mount))), ...over];
}

export function targetOf(mount: unknown): string {
  return String(mount).split(':')[1] ?? '';
}

const variablePattern = /\$(?:\$|\{([A-Z_]+)(?::(-|\?)([^}]*))?\})/g;

/** Names of the variables in a text. */
export function variablesIn(text: string): readonly string[] {
  return [...text.matchAll(variablePattern)].flatMap(([, name]) => (name === undefined ? [] : [name]));
}

function fillIn(value: unknown, variables: Readonly<Record<string, string | undefined>>): unknown {
  if (typeof value === 'string') {
    return value.replaceAll(variablePattern, (whole, name?: string, mode?: string, words?: string) => {
      if (name === undefined) return whole.slice(1);
      const given = variables[name] ?? '';
      if (given !== '') return given;
      if (mode === '?') throw new Error(words);
      return mode === '-' ? (words ?? '') : '';
    });
  }
  if (Array.isArray(value)) return value.map((one) => fillIn(one, variables));
  if (!isMap(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fillIn(one, variables)]));
}
