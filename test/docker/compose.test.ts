/**
 * The compose files: valid by the specification's schema (as the linter dclint carries it), each overlay put on
 * the base, and held to the services: their settings, ports, health, files and limits.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { isServiceName, serviceNames } from '../../cli/service-names.ts';
import { configFileSchema, type ConfigFile } from '../../contracts/config-file.ts';
import { settingsTable } from '../../contracts/settings-table.ts';
import { parseSettings } from '../../contracts/settings.ts';
import {
  composeFolder,
  documentOf,
  overlays,
  projectOf,
  targetOf,
  textOf,
  variablesIn,
  type Overlay,
  type Project,
  type Service,
} from './compose-files.ts';

const variables = {
  FERMATA_TOKEN: 'a-token-of-some-length',
  POSTGRES_PASSWORD: 'secret',
  GRAFANA_PASSWORD: 'secret',
  HOSTED_URL: 'https://api.example.com',
  HOSTED_MODEL: 'large',
  POOL_KEY: 'a-key',
};
const chosen: readonly (readonly [name: string, files: readonly Overlay[]])[] = [
  ['the base', []],
  ...overlays.map((overlay) => [overlay, [overlay]] as const),
  ['testbed with otel', ['testbed', 'otel']],
];
const projects = chosen.map(([name, files]) => [name, projectOf(files, variables)] as const);
const dependencies = createRequire(import.meta.url);

/** Services that the image runs, without those that a profile leaves out. */
function ours(project: Project): [string, Service][] {
  return Object.entries(project.services).filter(([, { image }]) => image.startsWith('fermata:'));
}

function configOf(project: Project, service: Service): ConfigFile {
  const path = service.environment['FERMATA_CONFIG'] ?? '/etc/fermata/fermata.yaml';
  const inline = service.configs.find(({ target }) => target === path);
  if (inline !== undefined) {
    return configFileSchema.parse(parse(project.configs[inline.source]?.content ?? ''));
  }
  const mount = service.volumes.find((one) => targetOf(one) === dirname(path)) ?? '';
  const text = readFileSync(join(resolve(composeFolder, mount.split(':')[0] ?? ''), 'fermata.yaml'), 'utf8');
  return configFileSchema.parse(parse(text));
}

describe('a compose file', () => {
  const schemaPath = join(
    dirname(dependencies.resolve('dclint/package.json')),
    'schemas',
    'compose.schema.json',
  );
  const { $schema: _draft, ...schema } = JSON.parse(readFileSync(schemaPath, 'utf8')) as Record<
    string,
    unknown
  >;
  const ajv = new Ajv({ strict: false, allErrors: true, formats: { duration: true } });
  const validate = ajv.compile(schema);

  it.each([null, ...overlays])('%s is what the specification allows', (overlay) => {
    expect([validate(documentOf(overlay)), validate.errors]).toEqual([true, null]);
  });

  it('with a word that the specification does not know is not', () => {
    expect(validate({ services: { proxy: { image: 'a', read_onyl: true } } })).toBe(false);
  });

  it('takes every variable that docker/.env.example tells of, and no other', () => {
    const example = readFileSync(join(composeFolder, '.env.example'), 'utf8');
    const told = [...example.matchAll(/^#?([A-Z_]+)=/gm)].map(([, name]) => name);
    const used = new Set([null, ...overlays].flatMap((overlay) => variablesIn(textOf(overlay))));
    expect(used).toEqual(new Set(told));
  });

  it('does not start without its secrets, and says which', () => {
    expect(() => projectOf([], {})).toThrow(/docker\/\.env/);
    expect(() => projectOf([], { ...variables, FERMATA_TOKEN: '' })).toThrow(/FERMATA_TOKEN/);
    expect(() => projectOf(['hosted'], { ...variables, POOL_KEY: '' })).toThrow(/POOL_KEY/);
    expect(() => projectOf(['otel'], { ...variables, GRAFANA_PASSWORD: '' })).toThrow(/GRAFANA_PASSWORD/);
  });
});

describe.each(projects)('compose, %s', (_name, project) => {
  it('names every image by its exact version', () => {
    for (const { image } of Object.values(project.services)) {
      expect(image).toMatch(/^[a-z0-9./-]+:v?\d+\.\d+(\.\d+)?(-[a-z0-9]+)?$/);
    }
  });

  it('publishes on loopback only, unless told otherwise', () => {
    const published = Object.values(project.services).flatMap(({ ports }) => ports);
    expect(published.length).toBeGreaterThan(3);
    expect(published.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    const hosts = published.map((port) => port.split(':')[1]);
    expect(new Set(hosts).size).toBe(hosts.length);
  });

  it('waits only for what can be waited for', () => {
    const awaited = Object.values(project.services).flatMap((service) => Object.entries(service.depends_on));
    expect(awaited.length).toBeGreaterThan(5);
    const vain = awaited.filter(([name, { condition }]) => {
      const other = project.services[name];
      if (other === undefined || other.profiles.length > 0) return true;
      if (condition === 'service_completed_successfully') return !other.restart.startsWith('on-failure');
      const lasting = other.restart === 'unless-stopped';
      return !lasting || (condition === 'service_healthy' && other.healthcheck === undefined);
    });
    expect(vain).toEqual([]);
  });

  it('mounts only what is there, and nothing of the checkout writable', () => {
    const mounts = Object.values(project.services).flatMap(({ volumes }) => volumes);
    const wrong = mounts.filter((mount) => {
      const [source = '', , mode] = mount.split(':');
      if (!source.startsWith('.')) return !(source in project.volumes);
      return mode !== 'ro' || !existsSync(resolve(composeFolder, source));
    });
    expect(wrong).toEqual([]);
    const networks = Object.values(project.services).flatMap((service) => service.networks);
    expect(networks.filter((name) => name !== 'default' && !(name in project.networks))).toEqual([]);
  });

  it('gives the services settings that they take', () => {
    for (const [name, { environment, command }] of ours(project)) {
      const names = Object.keys(environment).filter((one) => one.startsWith('FERMATA_'));
      expect(names.filter((one) => !(one in settingsTable))).toEqual([]);
      if (!isServiceName(command[0]) || command[0] === 'simulated-pool') continue;
      const settings = parseSettings(environment);
      expect([name, settings.host, settings.token]).toEqual([name, '0.0.0.0', variables.FERMATA_TOKEN]);
    }
  });

  it('names services where they listen', () => {
    const ports = {
      scheduler: '5001',
      proxy: '8080',
      'mcp-server': '7000',
      jaeger: '4318',
      temporal: '7233',
    };
    const addresses = ours(project).flatMap(([, { environment }]) =>
      Object.entries(environment)
        .filter(([name]) => /_URL$|_ADDRESS$|_ENDPOINT$/.test(name) && name !== 'FERMATA_TEMPORAL_UI_URL')
        .map(([, value]) => value),
    );
    expect(addresses.length).toBeGreaterThan(5);
    for (const address of addresses) {
      const [host = '', port] = address.replace(/^https?:\/\//, '').split(':');
      expect([host, port]).toEqual([host, ports[host as keyof typeof ports]]);
      expect(project.services[host]).toBeDefined();
    }
  });

  it('checks the health of each service as the service that it is', () => {
    for (const [name, { command, healthcheck }] of ours(project)) {
      const [service] = command;
      if (!isServiceName(service) || service === 'simulated-pool') continue;
      expect([name, ...(healthcheck?.test ?? [])]).toEqual([
        name,
        'CMD',
        'node',
        '/app/cli/service-main.js',
        'health',
        service,
        '--ready',
      ]);
    }
  });

  it('leaves the services nothing to write and no rights', () => {
    for (const [name, service] of ours(project)) {
      expect({ name, ...service }).toMatchObject({
        read_only: true,
        user: '10001:10001',
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
      expect([name, service.mem_limit]).toEqual([name, expect.stringMatching(/^\d+[mg]$/)]);
    }
  });

  it('mounts a configuration that the services take', () => {
    for (const name of ['scheduler', 'worker', 'mcp-server']) {
      const service = project.services[name];
      if (service === undefined) throw new Error(`there is no ${name}`);
      const { pool, tools } = configOf(project, service);
      const hosts = [
        ...pool.flatMap(({ url, loadFrom = [] }) => [url, ...loadFrom]),
        ...Object.values(tools.mcpServers).flatMap((server) => ('url' in server ? [server.url] : [])),
      ].map((url) => new URL(url));
      for (const { hostname } of hosts.filter(({ protocol }) => protocol === 'http:')) {
        expect([hostname, project.services[hostname]?.profiles]).toEqual([hostname, []]);
      }
      const keys = pool.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []);
      for (const reader of ['scheduler', 'proxy']) {
        expect(keys.filter((key) => (project.services[reader]?.environment[key] ?? '') === '')).toEqual([]);
      }
    }
  });
});

describe('compose', () => {
  const base = projectOf([], variables);

  it('runs every service of the image', () => {
    const commands = ours(base).map(([, { command }]) => command.join(' '));
    expect(commands.toSorted()).toEqual(
      [...serviceNames, 'setup temporal --create-namespace --retention 30d'].toSorted(),
    );
  });

  it('gives each service longer to stop than it takes for itself', () => {
    const seconds = (name: string): number =>
      Number.parseInt(base.services[name]?.stop_grace_period ?? '0', 10);
    expect(seconds('proxy')).toBeGreaterThan(
      Number(base.services['proxy']?.environment['FERMATA_DRAIN_SECONDS']) + 5,
    );
    // docs/deploys.md
    expect(seconds('worker')).toBe(45);
  });

  it('opens to others only by name, and asks for the token all the same', () => {
    const open = projectOf([], { ...variables, BIND_ADDRESS: '0.0.0.0' });
    const published = Object.values(open.services).flatMap(({ ports }) => ports);
    expect(published.filter((port) => port.startsWith('0.0.0.0:')).toSorted()).toEqual([
      '0.0.0.0:7000:7000',
      '0.0.0.0:8080:8080',
    ]);
    for (const [, { environment }] of ours(open))
      expect(environment).not.toHaveProperty('FERMATA_ALLOW_OPEN');
  });

  it('has the database on a network of its own that leads nowhere', () => {
    expect(base.networks['database']).toEqual({ internal: true });
    const near = Object.entries(base.services).filter(([, { networks }]) => networks.includes('database'));
    expect(near.map(([name]) => name).toSorted()).toEqual(['postgres', 'temporal', 'temporal-schema']);
    expect(base.services['postgres']?.ports).toEqual([]);
  });

  it('simulates the engines and the tools that its pool names', () => {
    const environment = base.services['simulated-pool']?.environment ?? {};
    const simulated = JSON.parse(environment['SIMULATED_POOL'] ?? '') as {
      engines: { id: string; port: number }[];
      toolServer: { port: number };
    };
    const scheduler = base.services['scheduler'];
    if (scheduler === undefined) throw new Error('there is no scheduler');
    const { pool, tools } = configOf(base, scheduler);
    expect(pool.map(({ id, url }) => [id, Number(new URL(url).port)])).toEqual(
      simulated.engines.map(({ id, port }) => [id, port]),
    );
    expect(tools.mcpServers['demo']).toMatchObject({
      url: `http://simulated-pool:${simulated.toolServer.port}/mcp`,
    });
  });

  it.each(['ollama', 'testbed', 'hosted'] as const)('with %s leaves the simulated pool out', (overlay) => {
    expect(projectOf([overlay], variables).services['simulated-pool']?.profiles).toEqual(['simulated']);
  });
});
