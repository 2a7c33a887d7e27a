/**
 * Reads the tree and holds it to the import rules: who may import whom, which packages a folder may
 * use, no cycles, no barrel files, no environment or exit outside entry points.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '..');

interface Rule {
  /** Folders it may import from, itself aside. */
  readonly folders: readonly string[];
  /** Packages it may import; `node:` stands for the builtins. */
  readonly packages: readonly string[];
  /** Folders it may import types from only. */
  readonly typeFolders?: readonly string[];
}

const service = ['fastify', 'pino', 'prom-client', 'node:'];
const rules: Readonly<Record<string, Rule>> = {
  contracts: { folders: [], packages: ['zod'] },
  auth: { folders: ['contracts'], packages: ['zod', 'yaml', 'pino', 'node:'] },
  config: { folders: ['contracts'], packages: ['yaml', 'pino', 'node:'] },
  temporal: { folders: ['contracts'], packages: ['@temporalio/envconfig', 'node:'] },
  telemetry: {
    folders: ['contracts'],
    packages: [
      'pino',
      'prom-client',
      'zod',
      'node:',
      '@temporalio/client',
      '@temporalio/common',
      '@opentelemetry/api',
      '@opentelemetry/core',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/exporter-trace-otlp-proto',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace',
    ],
  },
  'scheduler/core': { folders: ['contracts'], packages: [] },
  'scheduler/host': {
    folders: ['scheduler/core', 'auth', 'config', 'contracts', 'telemetry'],
    packages: [...service, 'ws', 'undici', 'zod'],
  },
  proxy: {
    folders: ['auth', 'contracts', 'telemetry'],
    packages: [...service, 'undici', 'ws', 'zod', 'eventsource-parser', '@redis/client'],
  },
  workflows: {
    folders: ['contracts'],
    packages: ['@temporalio/workflow', '@temporalio/common'],
    typeFolders: ['activities'],
  },
  activities: {
    folders: ['auth', 'config', 'contracts', 'temporal', 'telemetry'],
    packages: [
      ...service,
      '@temporalio/worker',
      '@temporalio/activity',
      '@temporalio/client',
      '@temporalio/common',
      '@temporalio/envconfig',
      '@modelcontextprotocol/client',
      'openai',
      'eventsource-parser',
      'ajv',
      'ajv-formats',
      'jsonrepair',
      'undici',
      'zod',
    ],
  },
  'mcp-server/runs': {
    folders: ['auth', 'contracts', 'telemetry', 'temporal'],
    packages: ['@temporalio/client', '@temporalio/common', 'zod', 'node:'],
  },
  'mcp-server/mcp': {
    folders: ['mcp-server/runs', 'auth', 'contracts', 'telemetry'],
    packages: ['@modelcontextprotocol/server', 'pino', 'zod', 'node:'],
    typeFolders: ['mcp-server'],
  },
  'mcp-server/api': {
    folders: ['mcp-server/runs', 'auth', 'config', 'contracts', 'telemetry'],
    packages: ['fastify', 'pino', 'zod', 'node:'],
  },
  'mcp-server/page': { folders: [], packages: ['fastify', 'pino', 'node:'] },
  'mcp-server': {
    folders: [
      'mcp-server/mcp',
      'mcp-server/runs',
      'mcp-server/api',
      'mcp-server/page',
      'auth',
      'config',
      'contracts',
      'telemetry',
      'temporal',
    ],
    packages: [
      ...service,
      '@modelcontextprotocol/server',
      '@modelcontextprotocol/node',
      '@temporalio/envconfig',
      'zod',
    ],
  },
  // All it knows of the services is what they tell at /api.
  web: {
    folders: [],
    packages: ['preact', '@preact/signals', 'eventsource-parser', 'vite'],
    typeFolders: ['contracts'],
  },
  'testkit/sim-engine/core': { folders: [], packages: [] },
  testkit: {
    folders: ['testkit/sim-engine/core', 'contracts'],
    packages: [
      'fastify',
      'pino',
      'zod',
      '@modelcontextprotocol/server',
      '@modelcontextprotocol/node',
      '@peculiar/x509',
      'reflect-metadata',
      'node:',
    ],
  },
};
const restFolders = ['cli', 'bench', 'test', 'examples', 'scripts'];
const entryPoint = /(^|\/)([a-z-]+-)?main\.ts$|^(cli|bench|scripts|test|examples)\//;

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules' || entry.name.startsWith('.')) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sourceFiles(path);
    return /\.tsx?$/.test(entry.name) && !path.includes('/fixtures/') ? [relative(root, path)] : [];
  });
}

const importPattern = /^\s*(?:import|export)\s+(type\s)?(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]/gm;
const dynamicPattern = /\bimport\(\s*['"]([^'"]+)['"]/g;

/** The text of a file without its comments. */
function codeOf(file: string): string {
  return readFileSync(join(root, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}

interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [
    ...[...text.matchAll(importPattern)].map((match) => ({
      specifier: match[2] ?? '',
      typeOnly: match[1] !== undefined,
    })),
    ...[...text.matchAll(dynamicPattern)].map((match) => ({ specifier: match[1] ?? '', typeOnly: false })),
  ];
}

/** The longest folder with a rule that holds the file; null for folders that may import everything. */
function folderOf(file: string): string | null {
  const folders = Object.keys(rules).toSorted((a, b) => b.length - a.length);
  return folders.find((folder) => file.startsWith(`${folder}/`)) ?? null;
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return 'node:';
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function faultsOf(file: string): string[] {
  const folder = folderOf(file);
  return importsOf(file).flatMap(({ specifier, typeOnly }) => {
    if (specifier.startsWith('.')) {
      const target = relative(root, resolve(root, dirname(file), specifier));
      const top = target.split('/')[0] ?? '';
      if (top === 'cli' || top === 'test' || top === 'bench') {
        return file.startsWith(`${top}/`) || ['test', 'bench', 'scripts'].includes(file.split('/')[0] ?? '')
          ? []
          : [`${file} imports ${target}: nothing imports ${top}`];
      }
      if (folder === null) return [];
      const targetFolder = folderOf(target);
      const allowed = [
        folder,
        ...(rules[folder]?.folders ?? []),
        ...(typeOnly ? (rules[folder]?.typeFolders ?? []) : []),
      ];
      return targetFolder !== null && allowed.includes(targetFolder)
        ? []
        : [`${file} may not import ${target}`];
    }
    if (folder === null || (rules[folder]?.packages ?? []).includes(packageOf(specifier))) return [];
    return [`${file} may not import the package ${specifier}`];
  });
}

const files = sourceFiles(root);

describe('the tree', () => {
  it('has sources only in folders that the rules know', () => {
    const unknown = files.filter(
      (file) =>
        file.includes('/') && folderOf(file) === null && !restFolders.includes(file.split('/')[0] ?? ''),
    );
    expect(unknown).toEqual([]);
  });

  it('imports only what each folder may import', () => {
    expect(files.flatMap(faultsOf)).toEqual([]);
  });

  it('has no import cycle', () => {
    const edges = new Map(
      files.map((file) => [
        file,
        importsOf(file)
          .filter(({ specifier }) => specifier.startsWith('.'))
          .map(({ specifier }) => relative(root, resolve(root, dirname(file), specifier))),
      ]),
    );
    const state = new Map<string, 'open' | 'done'>();
    const cycles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (state.get(file) === 'done') return;
      if (state.get(file) === 'open') {
        cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
        return;
      }
      state.set(file, 'open');
      for (const next of edges.get(file) ?? []) visit(next, [...path, file]);
      state.set(file, 'done');
    };
    for (const file of files) visit(file, []);
    expect(cycles).toEqual([]);
  });

  it('has no barrel files but those of workflows and activities', () => {
    const barrels = files.filter((file) => file.endsWith('/index.ts'));
    expect(barrels.filter((file) => !['workflows/index.ts', 'activities/index.ts'].includes(file))).toEqual(
      [],
    );
  });

  it('reads the environment, exits and handles signals only in entry points', () => {
    const use = /process\.(env|exit)\b|process\.on\(\s*['"]SIG/;
    const faults = files.filter(
      (file) => !entryPoint.test(file) && !file.endsWith('.config.ts') && use.test(codeOf(file)),
    );
    expect(faults).toEqual([]);
  });

  it('names imported files with their extension', () => {
    const faults = files.flatMap((file) =>
      importsOf(file)
        .filter(({ specifier }) => specifier.startsWith('.') && !/\.(tsx?|json|mjs)$/.test(specifier))
        .map(({ specifier }) => `${file}: ${specifier}`),
    );
    expect(faults).toEqual([]);
  });
});
